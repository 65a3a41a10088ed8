"""Requests about stock units, after they were decoded and checked for their form."""

from dataclasses import dataclass
from typing import ClassVar

from shared.v1alpha1.operation import OperationType


@dataclass(frozen=True, slots=True)
class SeedStock:
    """Create a number of stock units of a spec."""

    operation_type: ClassVar[OperationType] = OperationType.SEED_STOCK_UNITS

    operation_id: str
    spec_name: str
    replicas: int
    memory: str | None = None
    gpu: int | None = None
