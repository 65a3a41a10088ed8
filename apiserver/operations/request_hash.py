"""Request hash: equal for two requests of one type with the same normalised content."""

import dataclasses
import hashlib
import json
from typing import Any, ClassVar, Final, Protocol

import msgspec

from shared.v1alpha1.operation import OperationType
from shared.v1alpha1.unit_resources import DEFAULT_GPU_RESOURCE

HASH_VERSION: Final = "v1"
FIELD_DEFAULTS: Final = {"gpu": 0, "gpu_resource": DEFAULT_GPU_RESOURCE, "replicas": 0}


class Command(Protocol):
    """A dataclass that requests an operation; its fields other than the id identify the request.

    The names of the fields are hashed and stored: they must never change.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    operation_type: ClassVar[OperationType]

    @property
    def operation_id(self) -> str: ...


def normalised_fields(command: Command) -> dict[str, Any]:
    """Return the command as JSON values, without fields that are unset or at their default."""
    values = {
        field.name: msgspec.to_builtins(getattr(command, field.name))
        for field in dataclasses.fields(command)
        if field.name != "operation_id"
    }
    if isinstance(values.get("settings"), dict):  # the settings of a stock pool
        values["settings"] = without_defaults(values["settings"])
    return without_unset(without_defaults(values))


def without_defaults(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are not at their default."""
    return {name: value for name, value in fields.items() if value != FIELD_DEFAULTS.get(name)}


def without_unset(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: without_unset(value) if isinstance(value, dict) else value
        for name, value in values.items()
        if value is not None and value not in ({}, [], ())
    }


def request_hash(command: Command) -> str:
    """Return the hash version and the digest of the operation type and the normalised fields."""
    content = [command.operation_type.value, normalised_fields(command)]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{HASH_VERSION}:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
