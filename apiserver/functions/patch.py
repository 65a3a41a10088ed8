"""Specs and merge patches of functions."""

import dataclasses
from typing import Any

import msgspec

from apiserver.functions.commands import ChangeFunction, CreateFunction
from shared.k8s import merge_patch
from shared.v1alpha1.function import Function, FunctionSpec


def function_spec(command: CreateFunction) -> FunctionSpec:
    """Return the spec of a new function; fields that are not given take their default."""
    given = {
        field.name: getattr(command, field.name)
        for field in dataclasses.fields(command)
        if field.name not in ("operation_id", "name")
    }
    return FunctionSpec(**{name: value for name, value in given.items() if value is not None})


def changed_spec(function: Function, command: ChangeFunction) -> FunctionSpec:
    """Return the spec after a change; None brings back the default."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(FunctionSpec)}
    given = {
        name: defaults[name] if value is None else value for name, value in command.changes.items()
    }
    return msgspec.structs.replace(function.spec, **given)


def change_patch(function: Function, spec: FunctionSpec) -> dict[str, Any]:
    """Return the merge patch of a change, at the version of the function that was read."""
    meta = function.metadata
    condition = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    return {"metadata": condition, "spec": merge_patch.create_merge_patch(function.spec, spec)}
