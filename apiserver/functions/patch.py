"""What a function is made of, and what a change of it writes."""

import dataclasses
from typing import Any

import msgspec

from apiserver.functions.commands import ChangeFunction, CreateFunction
from shared.k8s import merge_patch
from shared.v1alpha1.function import Function, FunctionSpec


def function_spec(command: CreateFunction) -> FunctionSpec:
    """The spec that is asked for; what is not given is at its default."""
    given = {
        field.name: getattr(command, field.name)
        for field in dataclasses.fields(command)
        if field.name not in ("operation_id", "name")
    }
    return FunctionSpec(**{name: value for name, value in given.items() if value is not None})


def changed_spec(function: Function, command: ChangeFunction) -> FunctionSpec:
    """The spec as it will be; None brings back the default."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(FunctionSpec)}
    given = {
        name: defaults[name] if value is None else value for name, value in command.changes.items()
    }
    return msgspec.structs.replace(function.spec, **given)


def change_patch(function: Function, spec: FunctionSpec) -> dict[str, Any]:
    """A merge patch for the function as it was read."""
    meta = function.metadata
    condition = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    return {"metadata": condition, "spec": merge_patch.create_merge_patch(function.spec, spec)}
