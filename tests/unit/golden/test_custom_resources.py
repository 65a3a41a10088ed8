"""The custom resources as release 0.1.0 (commit 0e22fbe) defined them.

The data file has the manifests of that release without descriptions. Stored objects have these
fields; if a field were renamed, its stored value would be lost.
"""

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml

from shared.v1alpha1.function import Function
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stockpool import StockPool
from tests.unit.golden.data import Case, cases

MANIFESTS: Final = Path(__file__).parents[3] / "manifests" / "crd"
MODELS: Final[dict[str, type[msgspec.Struct]]] = {
    "functions": Function,
    "gpustorages": GPUStorage,
    "gpuunits": GPUUnit,
    "operations": Operation,
    "stockpools": StockPool,
}


def undescribed(value: Any) -> Any:
    """Return the definition without its descriptions and messages."""
    if isinstance(value, list):
        return [undescribed(item) for item in value]
    if not isinstance(value, dict):
        return value
    texts = {name for name in ("description", "message") if isinstance(value.get(name), str)}
    return {name: undescribed(part) for name, part in value.items() if name not in texts}


def definition(plural: str) -> Any:
    """Return the definition in the manifest of a resource."""
    return undescribed(yaml.safe_load((MANIFESTS / f"{plural}.yaml").read_text()))


def kept(plural: str, stored: Any) -> Any:
    """Return a stored object after one decode and encode."""
    read = msgspec.json.decode(msgspec.json.encode(stored), type=MODELS[plural])
    return msgspec.json.decode(msgspec.json.encode(read))


@pytest.mark.parametrize("case", cases("custom_resources", "definitions"))
def test_a_custom_resource_definition_keeps_its_fields(case: Case) -> None:
    assert definition(case.given) == case.made


@pytest.mark.parametrize("case", cases("custom_resources", "objects"))
def test_a_stored_object_keeps_all_fields(case: Case) -> None:
    assert kept(**case.given) == case.made
