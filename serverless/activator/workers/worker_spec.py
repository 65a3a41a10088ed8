"""What the activator asks the runtime API for: the worker of one number."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from shared.v1alpha1 import names
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit, Serverless
from shared.v1alpha1.wellknown import OPERATION_ID

PREFIX: Final = "fn/"


@dataclass(frozen=True, slots=True)
class Order:
    """One worker, by the name of its unit, the id of its operation and the request's body."""

    name: str
    operation_id: str
    body: dict[str, Any]


def operation_id(function_uid: str, number: int) -> str:
    """The operation that makes the worker of that number."""
    return f"{PREFIX}{function_uid}/{number}"


def number_of(unit: GPUUnit, function_uid: str) -> int | None:
    """Which worker of the function the unit is; None where we have not asked for it."""
    made_by = unit.metadata.annotations.get(OPERATION_ID, "")
    number = made_by.removeprefix(operation_id(function_uid, 0)[:-1])
    return int(number) if number != made_by and number.isdecimal() else None


def serverless_of(function: Function) -> Serverless:
    """What makes a unit this function's worker."""
    spec = function.spec
    return Serverless(
        request_id=function.metadata.name,
        framework=spec.framework,
        concurrency=spec.concurrency,
        timeout_seconds=spec.timeout_seconds,
    )


def order(function: Function, number: int) -> Order:
    """What to send for the worker of that number; the same function gives the same order."""
    spec, meta = function.spec, function.metadata
    name, made_by = names.worker(meta.name, number), operation_id(meta.uid, number)
    given = {
        "template": spec.template,
        "storageMounts": spec.storage_mounts,
        "serverless": serverless_of(function),
    }
    body = {
        "operationID": made_by,
        "name": name,
        "specName": spec.spec_name,
        "image": spec.image,
        **{field: msgspec.to_builtins(value) for field, value in given.items() if value},
    }
    return Order(name, made_by, body)
