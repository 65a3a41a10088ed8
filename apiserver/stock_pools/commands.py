"""Requests about stock pools, after they were decoded and checked for their form."""

from dataclasses import dataclass
from typing import ClassVar

from shared.k8s.pod import Toleration
from shared.v1alpha1.operation import OperationType


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """The settings of a pool besides its name and spec name; None is not given."""

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
    """Create a stock pool."""

    operation_type: ClassVar[OperationType] = OperationType.CREATE_STOCK_POOL

    operation_id: str
    name: str
    spec_name: str
    settings: PoolSettings
