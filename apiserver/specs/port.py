"""The use cases of the spec catalogue."""

from dataclasses import dataclass, field
from typing import Protocol

from shared.v1alpha1.unit_resources import UnitResources


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecSummary:
    """A catalogued spec and what there is of it; None is unknown."""

    resources: UnitResources
    description: str = ""
    stock: dict[str, int] = field(default_factory=dict)
    available: int = 0
    capacity: int | None = None


class SpecServicePort(Protocol):
    """The machine specs that operators have named."""

    async def list(self) -> tuple[SpecSummary, ...]:
        """Every spec, in the order of their names."""
        ...
