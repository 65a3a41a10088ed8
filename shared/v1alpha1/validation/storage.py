"""Validation of the spec of a storage."""

from collections.abc import Iterator

from shared.k8s import name_syntax
from shared.k8s.name_syntax import is_dns_label
from shared.v1alpha1.gpustorage import GPUStorageSpec, PrepareSpec
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.resources import quantity_problems


def storage_problems(spec: GPUStorageSpec) -> list[Problem]:
    """Return all problems that the schema does not detect."""
    return [
        *quantity_problems("spec.size", spec.size),
        *_source_problems(spec.prepare or PrepareSpec()),
    ]


def _source_problems(prepare: PrepareSpec) -> Iterator[Problem]:
    name = prepare.from_storage_name
    if name and not is_dns_label(name):
        message = f"is not the name of a storage: {name_syntax.DNS_LABEL_SYNTAX}"
        yield Problem("spec.prepare.fromStorageName", name, message)
