"""Stock pools in the examples of the API document."""

from typing import Final

from apiserver.operations import examples
from apiserver.stock_pools.schemas import StockPoolViewSchema
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import wellknown
from shared.v1alpha1.operation import OperationType
from shared.v1alpha1.phases import PoolPhase
from shared.v1alpha1.stockpool import StockPool, StockPoolSpec, StockPoolStatus

_MODEL: Final = StockPool(
    metadata=ObjectMeta(
        name="g1",
        namespace="runtime-stock",
        uid="5a1d2b34-3f7c-4b67-8d44-6a0e5f0f7a12",
        generation=1,
        annotations={wellknown.OPERATION_ID_ANNOTATION: "pool-1"},
        creation_timestamp="2026-11-16T04:40:00Z",
    ),
    spec=StockPoolSpec(spec_name="g1.1", memory="64Gi", gpu=1, replicas=4),
    status=StockPoolStatus(
        phase=PoolPhase.READY.value, replicas=4, available=4, allocated=9, observed_generation=1
    ),
)
POOL: Final = {"data": StockPoolViewSchema().dump(_MODEL)}
POOLS: Final = {"data": [POOL["data"]], "meta": {}}
JOB: Final = examples.job_response(
    examples.pending_operation("pool-1", OperationType.CREATE_STOCK_POOL)
)
SETTINGS: Final = {"replicas": 2, "maxUnavailable": 1, "cpu": "8", "memory": "64Gi", "gpu": 1}
CREATE: Final = {"operationID": "pool-1", "name": "g1", "specName": "g1.1", **SETTINGS}
