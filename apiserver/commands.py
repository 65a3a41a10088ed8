"""What callers can ask for, after it was decoded and checked for its form."""

from dataclasses import dataclass, field
from enum import Enum, auto

from apiserver.kube.resources import Revision
from shared.v1alpha1.gpustorage import AccessorSpec, PrepareSpec
from shared.v1alpha1.gpuunit import ServerlessSpec, UnitAccess
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.template import WorkloadTemplate
from shared.v1alpha1.unit_resources import Toleration


class Unset(Enum):
    """A field that the caller left out: it stays as it is."""

    UNSET = auto()


UNSET = Unset.UNSET


@dataclass(frozen=True, slots=True)
class SeedStock:
    """Make so many stock units of a spec."""

    operation_id: str
    spec_name: str
    replicas: int
    memory: str | None = None
    gpu: int | None = None


@dataclass(frozen=True, slots=True)
class CreateUnit:
    """Turn one ready stock unit into a user's unit."""

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
    """What a unit shall be from now on; None clears, UNSET keeps.

    `if_match`: only while the unit is at one of these revisions; None is whatever it is at.
    """

    name: str
    image: str | Unset = UNSET
    template: WorkloadTemplate | Unset | None = UNSET
    access: UnitAccess | Unset | None = UNSET
    storage_mounts: tuple[StorageMount, ...] | Unset | None = UNSET
    labels: dict[str, str] | Unset | None = UNSET
    if_match: tuple[Revision, ...] | None = None


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Everything of a pool but its name and spec name; None is not given."""

    replicas: int | None = None
    max_unavailable: int | None = None
    cpu: str | None = None
    memory: str | None = None
    gpu: int | None = None
    gpu_resource: str | None = None
    node_selector: dict[str, str] | None = None
    tolerations: tuple[Toleration, ...] | None = None
    shm_size: str | None = None


@dataclass(frozen=True, slots=True)
class CreatePool:
    """Make a pool of stock that looks after itself."""

    operation_id: str
    name: str
    spec_name: str
    settings: PoolSettings


@dataclass(frozen=True, slots=True)
class CreateStorage:
    """Make a storage; without an operation_id, by a request that cannot be repeated."""

    operation_id: str
    name: str
    size: str
    storage_class_name: str | None = None
    prepare: PrepareSpec | None = None
    accessor: AccessorSpec | None = None
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangeStorage:
    """What a storage shall be from now on; None clears, UNSET keeps.

    `if_match`: only while the storage is at one of these revisions; None is whatever it is at.
    """

    name: str
    size: str | Unset = UNSET
    accessor: AccessorSpec | Unset | None = UNSET
    labels: dict[str, str] | Unset | None = UNSET
    if_match: tuple[Revision, ...] | None = None


@dataclass(frozen=True, slots=True)
class ListStorages:
    """Which storages, and how many at a time."""

    phase: str = ""
    label: str = ""
    limit: int = 100
    continue_token: str = ""


@dataclass(frozen=True, slots=True)
class ListUnits:
    """Which units, and how many at a time."""

    spec_name: str = ""
    phase: str = ""
    label: str = ""
    limit: int = 100
    continue_token: str = ""
