"""Stock units in the examples of the API document."""

from typing import Final

from apiserver.specs.stock_counts import StockCount
from apiserver.stock_units.schemas import StockMetaSchema
from apiserver.units.views import StockUnitViewSchema
from shared.k8s.meta import Condition, ObjectMeta
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec, GPUUnitStatus
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.reasons import ConditionType, UnitReason

NAME: Final = "stock-hk3q2vtd4f7u5c2m6x3yqkz7pa4wbn5e-0"

_MODEL: Final = GPUUnit(
    metadata=ObjectMeta(
        name=NAME,
        namespace="runtime-stock",
        uid="7d4e8c52-7d0f-4a53-9a3f-1f4e3f0f7a11",
        annotations={wellknown.OPERATION_ID_ANNOTATION: "seed-1"},
        creation_timestamp="2026-11-16T04:40:20Z",
    ),
    spec=GPUUnitSpec(spec_name="g1.1", memory="64Gi", gpu=1),
    status=GPUUnitStatus(
        phase=UnitPhase.READY.value,
        ready_replicas=1,
        observed_generation=1,
        node_name="gpu-node-0",
        conditions=(
            Condition(
                type=ConditionType.READY.value,
                status="True",
                last_transition_time="2026-11-16T04:40:24Z",
                reason=UnitReason.STOCK_READY.value,
                message="",
            ),
        ),
    ),
)
UNITS: Final = {
    "data": [StockUnitViewSchema().dump(_MODEL)],
    "meta": StockMetaSchema().dump({"summary": (StockCount("g1.1", UnitPhase.READY.value, 1),)}),
}
SEED: Final = {
    "operationID": "seed-1",
    "specName": "g1.1",
    "memory": "64Gi",
    "gpu": 1,
    "replicas": 2,
}
