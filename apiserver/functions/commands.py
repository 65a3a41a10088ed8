"""Requests about functions, after they were decoded and checked for their form."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from apiserver.kube.resources import Revision
from shared.v1alpha1 import wellknown
from shared.v1alpha1.framework_endpoint import FrameworkEndpoint
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.operation import OperationType
from shared.v1alpha1.template import WorkloadTemplate


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """Create a function; None means the default."""

    operation_type: ClassVar[OperationType] = OperationType.CREATE_FUNCTION

    operation_id: str
    name: str
    spec_name: str
    image: str
    template: WorkloadTemplate | None = None
    storage_mounts: tuple[StorageMount, ...] = ()
    min_workers: int | None = None
    max_workers: int | None = None
    concurrency: int | None = None
    target_backlog: int | None = None
    idle_timeout_seconds: int | None = None
    timeout_seconds: int | None = None
    ttl_seconds: int | None = None
    max_attempts: int | None = None
    max_queued: int | None = None
    framework: FrameworkEndpoint | None = None


@dataclass(frozen=True, slots=True)
class ChangeFunction:
    """New values of a function by field; None restores the default.

    `if_match`: the accepted revisions of the function; None accepts every one.
    """

    name: str
    changes: dict[str, Any]
    if_match: tuple[Revision, ...] | None = None


class QueuedWorkPolicy(StrEnum):
    """What to do with the queued work of a function that is deleted."""

    DRAIN = wellknown.ON_DELETE_DRAIN
    PURGE = wellknown.ON_DELETE_PURGE


@dataclass(frozen=True, slots=True)
class DeleteFunction:
    """Delete a function; without `on_delete` only while it has no work."""

    name: str
    on_delete: QueuedWorkPolicy | None = None


@dataclass(frozen=True, slots=True)
class ListFunctions:
    """A query for one page of functions."""

    phase: str = ""
    limit: int = 100
    continue_token: str = ""
