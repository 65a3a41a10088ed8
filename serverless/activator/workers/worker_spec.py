"""What the activator asks the runtime API for: the worker of one number."""

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
    """One worker, by the name of its unit, the id of its operation and the request's body."""

    name: str
    operation_id: str
    body: dict[str, Any]


def worker_operation_id(function_uid: str, number: int) -> str:
    """The operation that makes the worker of that number."""
    return f"{OPERATION_ID_PREFIX}{function_uid}/{number}"


def worker_number_of(unit: GPUUnit, function_uid: str) -> int | None:
    """Which worker of the function the unit is; None where we have not asked for it."""
    made_by = unit.metadata.annotations.get(OPERATION_ID_ANNOTATION, "")
    number = made_by.removeprefix(worker_operation_id(function_uid, 0)[:-1])
    return int(number) if number != made_by and number.isdecimal() else None


def serverless_spec_of(function: Function) -> ServerlessSpec:
    """What makes a unit this function's worker."""
    spec = function.spec
    return ServerlessSpec(
        function_name=function.metadata.name,
        framework=spec.framework,
        concurrency=spec.concurrency,
        timeout_seconds=spec.timeout_seconds,
    )


def build_worker_spec(function: Function, number: int) -> WorkerSpec:
    """What to send for the worker of that number; the same function gives the same order."""
    spec, meta = function.spec, function.metadata
    name, made_by = names.worker_name(meta.name, number), worker_operation_id(meta.uid, number)
    given = {
        "template": spec.template,
        "storageMounts": spec.storage_mounts,
        "serverless": serverless_spec_of(function),
    }
    body = {
        "operationID": made_by,
        "name": name,
        "specName": spec.spec_name,
        "image": spec.image,
        **{field: msgspec.to_builtins(value) for field, value in given.items() if value},
    }
    return WorkerSpec(name, made_by, body)
