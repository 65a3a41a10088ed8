"""Requests about storages, after they were decoded and checked for their form."""

from dataclasses import dataclass, field
from typing import ClassVar

from msgspec import UNSET, UnsetType

from apiserver.kube.resources import Revision
from shared.v1alpha1.gpustorage import AccessorSpec, PrepareSpec
from shared.v1alpha1.operation import OperationType


@dataclass(frozen=True, slots=True)
class CreateStorage:
    """Create a storage; without an operation_id the request cannot be repeated."""

    operation_type: ClassVar[OperationType] = OperationType.CREATE_GPU_STORAGE

    operation_id: str
    name: str
    size: str
    storage_class_name: str | None = None
    prepare: PrepareSpec | None = None
    accessor: AccessorSpec | None = None
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangeStorage:
    """New values of a storage; None clears a field, UNSET keeps it.

    `if_match`: the accepted revisions of the storage; None accepts every one.
    """

    name: str
    size: str | UnsetType = UNSET
    accessor: AccessorSpec | UnsetType | None = UNSET
    labels: dict[str, str] | UnsetType | None = UNSET
    if_match: tuple[Revision, ...] | None = None


@dataclass(frozen=True, slots=True)
class ListStorages:
    """A query for one page of storages."""

    phase: str = ""
    label: str = ""
    limit: int = 100
    continue_token: str = ""
