"""Changes wake the units that they concern."""

from typing import Any

import msgspec
import pytest

from controller.gpuunit.triggers import Wakes
from controller.runtime.key import ObjectKey
from shared import names
from shared.service import Service
from tests.support.gpu_units import INSTANCE, a_unit, settings
from tests.unit.controller.gpuunit.filled_caches import caches_with

LONG = "a" * 63
OURS = {"apiVersion": "runtime.lokiwager.io/v1alpha1", "kind": "GPUUnit", "name": "one"}


def a_service(name: str, **metadata: Any) -> Service:
    meta = {"name": name, "namespace": INSTANCE, **metadata}
    return msgspec.convert({"metadata": meta}, Service)


def woken(old: Service | None, new: Service | None) -> list[ObjectKey]:
    wakes = Wakes(caches_with(a_unit("one"), a_unit(LONG)), settings().namespaces)
    return list(wakes.freed_name()(old, new))


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("unit-one", "one"),
        ("egress-one", "one"),
        (names.unit_child(LONG), LONG),
    ],
)
def test_a_stranger_that_goes_wakes_the_unit_that_wants_its_name(name: str, unit: str) -> None:
    assert woken(a_service(name), None) == [ObjectKey(INSTANCE, unit)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(a_service("other"), None, id="another name"),
        pytest.param(None, a_service("unit-one"), id="one that comes"),
        pytest.param(a_service("unit-one"), a_service("unit-one"), id="one that changes"),
        pytest.param(
            a_service("unit-one", ownerReferences=[{**OURS, "controller": True}]),
            None,
            id="a unit's own",
        ),
    ],
)
def test_others_wake_nobody(old: Service | None, new: Service | None) -> None:
    assert woken(old, new) == []
