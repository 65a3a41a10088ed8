"""The request for a worker to the runtime API."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from shared.v1alpha1 import names
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit, ServerlessSpec
from shared.v1alpha1.wellknown import OPERATION_ID_ANNOTATION

OPERATION_ID_PREFIX: Final = "fn/"


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """One worker: the name of its unit, its operation id and the request body."""

    name: str
    operation_id: str
    body: dict[str, Any]


def worker_operation_id(function_uid: str, number: int) -> str:
    """Return the id of the operation that creates the worker of that number."""
    return f"{OPERATION_ID_PREFIX}{function_uid}/{number}"


def worker_number_of(unit: GPUUnit, function_uid: str) -> int | None:
    """Return the number of a worker of the function; None if we did not create it."""
    operation_id = unit.metadata.annotations.get(OPERATION_ID_ANNOTATION, "")
    number = operation_id.removeprefix(worker_operation_id(function_uid, 0)[:-1])
    return int(number) if number != operation_id and number.isdecimal() else None


def serverless_spec_of(function: Function) -> ServerlessSpec:
    """Return the spec that makes a unit a worker of the function."""
    spec = function.spec
    return ServerlessSpec(
        function_name=function.metadata.name,
        framework=spec.framework,
        concurrency=spec.concurrency,
        timeout_seconds=spec.timeout_seconds,
    )


def build_worker_spec(function: Function, number: int) -> WorkerSpec:
    """Return the request for the worker of that number; equal functions give equal requests."""
    spec, meta = function.spec, function.metadata
    name, operation_id = names.worker_name(meta.name, number), worker_operation_id(meta.uid, number)
    optional = {
        "template": spec.template,
        "storageMounts": spec.storage_mounts,
        "serverless": serverless_spec_of(function),
    }
    body = {
        "operationID": operation_id,
        "name": name,
        "specName": spec.spec_name,
        "image": spec.image,
        **{field: msgspec.to_builtins(value) for field, value in optional.items() if value},
    }
    return WorkerSpec(name, operation_id, body)
