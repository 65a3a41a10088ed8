"""Specs and merge patches of functions, and the validation across the fields of a spec."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import msgspec

from apiserver.errors import InvalidRequestError, problem_details
from apiserver.functions.commands import ChangeFunction, CreateFunction
from shared.k8s import merge_patch
from shared.v1alpha1.function import Function, FunctionSpec
from shared.v1alpha1.gpuunit import GPUUnitSpec, ServerlessSpec
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.serverless import serverless_problems


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


def require_valid_function(name: str, spec: FunctionSpec, retention_seconds: float) -> None:
    """Raise InvalidRequestError for an invalid spec; records are kept for `retention_seconds`."""
    problems = [*function_problems(spec, retention_seconds), *worker_problems(name, spec)]
    if problems:
        details = problem_details(problems)
        raise InvalidRequestError("the function would be invalid", details=details)


def function_problems(spec: FunctionSpec, retention_seconds: float) -> Iterator[Problem]:
    """Yield the problems of fields that conflict with each other or with the retention."""
    if spec.storage_mounts and spec.max_workers != 1:
        names = ", ".join(mount.name for mount in spec.storage_mounts)
        message = "requires maxWorkers 1: only one unit at a time can mount a storage"
        yield Problem("spec.storageMounts", names, message)
    if spec.min_workers > spec.max_workers:
        message = f"is above maxWorkers, which is {spec.max_workers}"
        yield Problem("spec.minWorkers", str(spec.min_workers), message)
    if spec.ttl_seconds >= retention_seconds:
        message = f"is not below the record retention, which is {retention_seconds:g} s"
        yield Problem("spec.ttlSeconds", str(spec.ttl_seconds), message)


def worker_problems(name: str, spec: FunctionSpec) -> Iterator[Problem]:
    """Yield the problems of the workers of the function, by field of the function."""
    unit = GPUUnitSpec(
        spec_name=spec.spec_name,
        image=spec.image,
        template=spec.template,
        storage_mounts=spec.storage_mounts,
        serverless=ServerlessSpec(function_name=name, framework=spec.framework),
    )
    for problem in serverless_problems(unit):
        path = problem.path.replace("spec.serverless.", "spec.")
        yield Problem(path, problem.value, problem.message)
