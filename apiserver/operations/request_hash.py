"""What makes two requests the same: their normalised content, of whatever type they are."""

import dataclasses
import hashlib
import json
from typing import Any, Final

import msgspec

from apiserver.commands import CreatePool, CreateStorage, CreateUnit, SeedStock
from apiserver.serverless_commands import CreateFunction
from shared.v1alpha1.operation import OperationType
from shared.v1alpha1.unit_resources import DEFAULT_GPU_RESOURCE

HASH_VERSION: Final = "v1"
FIELD_DEFAULTS: Final = {"gpu": 0, "gpu_resource": DEFAULT_GPU_RESOURCE, "replicas": 0}

Command = SeedStock | CreateUnit | CreatePool | CreateStorage | CreateFunction

OPERATION_TYPES: Final[dict[type[Command], OperationType]] = {
    SeedStock: OperationType.SEED_STOCK_UNITS,
    CreateUnit: OperationType.CREATE_GPU_UNIT,
    CreatePool: OperationType.CREATE_STOCK_POOL,
    CreateStorage: OperationType.CREATE_GPU_STORAGE,
    CreateFunction: OperationType.CREATE_FUNCTION,
}


def normalised_fields(command: Command) -> dict[str, Any]:
    """The command as JSON values; what was not given and what is at its default are left out."""
    given = {
        field.name: msgspec.to_builtins(getattr(command, field.name))
        for field in dataclasses.fields(command)
        if field.name != "operation_id"
    }
    if isinstance(command, CreatePool):
        given["settings"] = without_defaults(given["settings"])
    return without_unset(without_defaults(given))


def without_defaults(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that say something else than their absence."""
    return {name: value for name, value in fields.items() if value != FIELD_DEFAULTS.get(name)}


def without_unset(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: without_unset(value) if isinstance(value, dict) else value
        for name, value in values.items()
        if value is not None and value not in ({}, [], ())
    }


def request_hash(command: Command) -> str:
    """The version and digest of the normal form, which covers the type as well."""
    content = [OPERATION_TYPES[type(command)].value, normalised_fields(command)]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{HASH_VERSION}:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
