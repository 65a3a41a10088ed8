"""Requests about users' units, after they were decoded and checked for their form."""

from dataclasses import dataclass, field
from typing import ClassVar

from msgspec import UNSET, UnsetType

from apiserver.kube.resources import Revision
from shared.v1alpha1.gpuunit import ServerlessSpec, UnitAccess
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.operation import OperationType
from shared.v1alpha1.template import WorkloadTemplate


@dataclass(frozen=True, slots=True)
class CreateUnit:
    """Create a user's unit from one ready stock unit."""

    operation_type: ClassVar[OperationType] = OperationType.CREATE_GPU_UNIT

    operation_id: str
    name: str
    spec_name: str
    image: str
    stock_name: str | None = None
    template: WorkloadTemplate | None = None
    access: UnitAccess | None = None
    storage_mounts: tuple[StorageMount, ...] = ()
    image_pull_secrets: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    serverless: ServerlessSpec | None = None


@dataclass(frozen=True, slots=True)
class ChangeUnit:
    """New values of a unit; None clears a field, UNSET keeps it.

    `if_match`: the accepted revisions of the unit; None accepts every one.
    """

    name: str
    image: str | UnsetType = UNSET
    template: WorkloadTemplate | UnsetType | None = UNSET
    access: UnitAccess | UnsetType | None = UNSET
    storage_mounts: tuple[StorageMount, ...] | UnsetType | None = UNSET
    labels: dict[str, str] | UnsetType | None = UNSET
    if_match: tuple[Revision, ...] | None = None


@dataclass(frozen=True, slots=True)
class ListUnits:
    """A query for one page of units."""

    spec_name: str = ""
    phase: str = ""
    label: str = ""
    limit: int = 100
    continue_token: str = ""
