"""Functions in the examples of the API document."""

from typing import Final

from apiserver.errors import ConflictError
from apiserver.functions.schemas import FunctionViewSchema
from apiserver.http.openapi import error_doc
from apiserver.operations import examples
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import wellknown
from shared.v1alpha1.function import Function, FunctionSpec, FunctionStatus
from shared.v1alpha1.operation import OperationType
from shared.v1alpha1.phases import FunctionPhase

_MODEL: Final = Function(
    metadata=ObjectMeta(
        name="echo",
        namespace="runtime-instance",
        uid="9e0c6a1e-52d4-4c0b-9a77-0d3b5f0f7a14",
        generation=1,
        annotations={wellknown.OPERATION_ID_ANNOTATION: "echo-1"},
        creation_timestamp="2026-11-16T04:39:00Z",
    ),
    spec=FunctionSpec(
        spec_name="g1.1", image="registry.example.com/echo:3", max_workers=4, concurrency=8
    ),
    status=FunctionStatus(
        phase=FunctionPhase.READY.value,
        desired_workers=1,
        workers=1,
        ready_workers=1,
        queued=0,
        running=2,
        worker_counter=7,
        last_activity_time="2026-11-16T04:41:02Z",
        observed_generation=1,
    ),
)
FUNCTION: Final = {"data": FunctionViewSchema().dump(_MODEL)}
FUNCTIONS: Final = {"data": [FUNCTION["data"]], "meta": {}}
JOB: Final = examples.job_response(
    examples.pending_operation("echo-1", OperationType.CREATE_FUNCTION)
)
FUNCTION_BUSY: Final = error_doc(
    ConflictError(
        "the function 'echo' has 3 queued or running invocations; "
        "set drain=true to finish them, or purge=true to cancel them"
    )
)
CREATE: Final = {
    "operationID": "echo-1",
    "name": "echo",
    "specName": "g1.1",
    "image": "registry.example.com/echo:3",
    "maxWorkers": 4,
    "concurrency": 8,
}
CHANGE: Final = {"maxWorkers": 8, "idleTimeoutSeconds": 60}
