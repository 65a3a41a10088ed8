"""Validation across the fields of a function."""

from collections.abc import Iterator

from apiserver.errors import InvalidRequestError, problem_details
from shared.v1alpha1.function import FunctionSpec
from shared.v1alpha1.gpuunit import GPUUnitSpec, ServerlessSpec
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.serverless import serverless_problems


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
