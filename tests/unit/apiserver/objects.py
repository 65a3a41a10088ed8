"""Kubernetes objects as the API server returns them."""

from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.gpustorage import GPUStorage, GPUStorageSpec
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec
from shared.v1alpha1.operation import Operation, OperationSpec, OperationType
from shared.v1alpha1.stockpool import StockPool, StockPoolSpec


def new_unit(name: str = "trainer", namespace: str = "runtime-instance") -> GPUUnit:
    return GPUUnit(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=f"uid-{name}", generation=2),
        spec=GPUUnitSpec(spec_name="g1.1", image="example/app:1"),
    )


def new_pool(name: str = "g1") -> StockPool:
    return StockPool(
        metadata=ObjectMeta(name=name, namespace="runtime-stock", uid=f"uid-{name}", generation=2),
        spec=StockPoolSpec(spec_name="g1.1", replicas=3),
    )


def new_storage(name: str = "data") -> GPUStorage:
    return GPUStorage(
        metadata=ObjectMeta(
            name=name, namespace="runtime-instance", uid=f"uid-{name}", generation=2
        ),
        spec=GPUStorageSpec(size="1Gi"),
    )


def new_job(operation_id: str, type_: OperationType = OperationType.SEED_STOCK_UNITS) -> Operation:
    return Operation(
        metadata=ObjectMeta(name="hash"),
        spec=OperationSpec(operation_id=operation_id, type=type_.value, request_hash="v1:x"),
    )
