"""Storages in the examples of the API document."""

from typing import Final

from apiserver.errors import ConflictError
from apiserver.http.openapi import error_doc
from apiserver.operations import examples
from apiserver.storages.schemas import GPUStorageViewSchema
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import (
    AccessorSpec,
    AccessorStatus,
    GPUStorage,
    GPUStorageSpec,
    GPUStorageStatus,
    PrepareSpec,
    PrepareStatus,
)
from shared.v1alpha1.operation import OperationType
from shared.v1alpha1.phases import AccessorPhase, PreparePhase, StoragePhase

_MODEL: Final = GPUStorage(
    metadata=ObjectMeta(
        name="data",
        namespace="runtime-instance",
        uid="3c0f6a1e-52d4-4c0b-9a77-0d3b5f0f7a13",
        generation=1,
        labels={"tenant": "blue"},
        annotations={wellknown.OPERATION_ID_ANNOTATION: "storage-1"},
        creation_timestamp="2026-11-16T04:39:00Z",
    ),
    spec=GPUStorageSpec(
        size="100Gi",
        storage_class_name="fast",
        prepare=PrepareSpec(from_image="registry.example.com/dataset:3", args=("--to", "/data")),
        accessor=AccessorSpec(enabled=True),
    ),
    status=GPUStorageStatus(
        phase=StoragePhase.READY.value,
        claim_name="data",
        capacity="100Gi",
        prepare=PrepareStatus(phase=PreparePhase.SUCCEEDED.value, job_name="prepare-data"),
        accessor=AccessorStatus(
            phase=AccessorPhase.READY.value,
            service_name="accessor-data",
            access_url="http://accessor-data.runtime-instance.svc.cluster.local",
        ),
        mounted_by="trainer",
        observed_generation=1,
        last_sync_time="2026-11-16T04:41:02Z",
    ),
)
STORAGE: Final = {"data": GPUStorageViewSchema().dump(_MODEL)}
STORAGES: Final = {"data": [STORAGE["data"]], "meta": {}}
JOB: Final = examples.job_response(
    examples.pending_operation("storage-1", OperationType.CREATE_GPU_STORAGE)
)
CANNOT_GROW: Final = error_doc(
    ConflictError("the storage cannot grow: StorageClass 'fixed' does not allow expansion")
)
MOUNTED: Final = error_doc(
    ConflictError("the storage is in use by unit trainer; delete that first")
)
PREPARE_NOT_FAILED: Final = error_doc(
    ConflictError("only a failed prepare can be recovered; this prepare is Running")
)
CREATE: Final = {
    "operationID": "storage-1",
    "name": "data",
    "size": "100Gi",
    "prepare": {"fromImage": "registry.example.com/dataset:3", "args": ["--to", "/data"]},
    "accessor": {"enabled": True},
    "labels": {"tenant": "blue"},
}
CHANGE: Final = {"size": "200Gi", "accessor": {"enabled": False}}
