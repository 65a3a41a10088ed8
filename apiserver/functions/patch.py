"""Specs and merge patches of functions."""

import dataclasses
from typing import Any

import msgspec

from apiserver.functions.commands import ChangeFunction, CreateFunction
from shared.k8s import merge_patch
from shared.v1alpha1.function import Function, FunctionSpec


def function_spec(command: CreateFunction) -> FunctionSpec:
    """Return the spec of a new function; absent fields get their default."""
    values = {
        field.name: getattr(command, field.name)
        for field in dataclasses.fields(command)
        if field.name not in ("operation_id", "name")
    }
    return FunctionSpec(**{name: value for name, value in values.items() if value is not None})


def changed_spec(function: Function, command: ChangeFunction) -> FunctionSpec:
    """Return the spec after a change; None restores the default."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(FunctionSpec)}
    changes = {
        name: defaults[name] if value is None else value for name, value in command.changes.items()
    }
    return msgspec.structs.replace(function.spec, **changes)


def change_patch(function: Function, spec: FunctionSpec) -> dict[str, Any]:
    """Return the merge patch of a change, at the version of the function that was read."""
    meta = function.metadata
    preconditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    return {"metadata": preconditions, "spec": merge_patch.create_merge_patch(function.spec, spec)}
