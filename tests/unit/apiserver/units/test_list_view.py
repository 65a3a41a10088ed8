"""Tests of the list view of units: same fields and same order as the schema."""

import json
from collections.abc import Callable

import msgspec
import pytest

from apiserver.units.list_view import ListedUnit, listed_stock_unit, listed_unit
from apiserver.units.views import GPUUnitViewSchema, StockUnitViewSchema, UnitViewSchema
from shared.k8s.meta import Condition, ObjectMeta
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec, GPUUnitStatus, UnitAccess
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.template import EnvVar, EnvVarSource, Port, SecretKeyRef, WorkloadTemplate

LABELS = {"tenant": "blau-ä", wellknown.UNIT_LABEL: "a", wellknown.MANAGED_BY_LABEL: "gpu-runtime"}
ANNOTATIONS = {
    wellknown.OPERATION_ID_ANNOTATION: "order-1",
    wellknown.SOURCE_STOCK_NAME_ANNOTATION: "stock-1",
    wellknown.SOURCE_STOCK_NAMESPACE_ANNOTATION: "runtime-stock",
    wellknown.CLAIMED_BY_ANNOTATION: "trainer",
    wellknown.CLAIM_OPERATION_ANNOTATION: "order-2",
    wellknown.CLAIMED_AT_ANNOTATION: "2026-11-16T04:41:00Z",
}
META = ObjectMeta(
    name="a",
    namespace="n",
    uid="u",
    labels=LABELS,
    annotations=ANNOTATIONS,
    creation_timestamp="2026-11-16T04:40:00Z",
)
SECRET = EnvVarSource(secret_key_ref=SecretKeyRef(name="s", key="k"))
TEMPLATE = WorkloadTemplate(
    command=("run",),
    args=("--fast", ""),
    envs=(EnvVar(name="A", value="1"), EnvVar(name="B"), EnvVar(name="C", value_from=SECRET)),
    ports=(Port(name="http", port=80), Port(name="dns", port=53, protocol="UDP")),
)
MOUNTS = (
    StorageMount(name="m", mount_path="/m"),
    StorageMount(name="r", mount_path="/r", read_only=True),
)
SPEC = GPUUnitSpec(
    spec_name="g1.1",
    cpu="8",
    memory="64Gi",
    gpu=1,
    image="a:1",
    template=TEMPLATE,
    access=UnitAccess(primary_port="http", scheme="https"),
    storage_mounts=MOUNTS,
)


def condition(kind: str, reason: str) -> Condition:
    return Condition(
        type=kind, status="True", last_transition_time="t", reason=reason, message=f"it is {kind}"
    )


STATUS = GPUUnitStatus(
    phase="Ready",
    ready_replicas=1,
    observed_generation=3,
    last_sync_time="2026-11-16T04:42:00Z",
    service_name="unit-a",
    access_url="https://unit-a.n.svc:80",
    node_name="node-1",
    conditions=(condition("Scheduled", "PodBound"), condition("Ready", "PodReady")),
)
MINIMAL_SPEC = GPUUnitSpec(spec_name="g1.1")
UNITS = {
    "everything": GPUUnit(metadata=META, spec=SPEC, status=STATUS),
    "minimal": GPUUnit(metadata=ObjectMeta(name="a"), spec=MINIMAL_SPEC),
    "empty parts": GPUUnit(
        metadata=META,
        spec=GPUUnitSpec(spec_name="s", template=WorkloadTemplate(), access=UnitAccess(scheme="")),
    ),
    "defaults": GPUUnit(metadata=META, spec=GPUUnitSpec(spec_name="s", access=UnitAccess())),
    "no ready condition": GPUUnit(
        metadata=META,
        spec=MINIMAL_SPEC,
        status=GPUUnitStatus(conditions=(condition("Scheduled", "PodBound"),)),
    ),
}
VIEWS: list[tuple[Callable[[GPUUnit], ListedUnit], type[UnitViewSchema]]] = [
    (listed_unit, GPUUnitViewSchema),
    (listed_stock_unit, StockUnitViewSchema),
]


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize(("listed", "schema"), VIEWS)
def test_a_listed_unit_has_the_same_json_as_from_the_schema(
    unit: GPUUnit, listed: Callable[[GPUUnit], ListedUnit], schema: type[UnitViewSchema]
) -> None:
    expected = json.dumps(schema().dump(unit), separators=(",", ":"), ensure_ascii=False)
    assert msgspec.json.encode(listed(unit)).decode() == expected


@pytest.mark.parametrize(("listed", "schema"), VIEWS)
def test_a_listed_unit_has_every_field_of_the_schema(
    listed: Callable[[GPUUnit], ListedUnit], schema: type[UnitViewSchema]
) -> None:
    fields = {field.data_key for field in schema().fields.values()} - {"deleted"}
    item = msgspec.to_builtins(listed(UNITS["everything"]))
    assert set(item) == fields
