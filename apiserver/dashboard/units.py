"""Users' units on the dashboard."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from apiserver.dashboard.snapshot import DashboardUnit
from apiserver.dashboard.top_rows import (
    DashboardRow,
    TopRows,
    newest_first,
    ready_reason_and_message,
    top_rows,
)
from shared.v1alpha1.phases import UnitPhase

DELETING: Final = "Deleting"

_RANKS: Final = {UnitPhase.FAILED.value: 0, UnitPhase.READY.value: 2}
_OTHER_RANK: Final = 1


class UnitRow(DashboardRow, frozen=True, kw_only=True):
    """One unit."""

    name: str
    state: str
    spec_name: str = ""
    gpu: int = 0
    reason: str = ""
    message: str = ""
    node: str = ""
    created_at: str = ""


class UnitsView(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of units by state, and the rows of some."""

    states: dict[str, int]
    listed: TopRows[UnitRow]


def units_view(units: Sequence[DashboardUnit]) -> UnitsView:
    """Return the view; failed units first, ready ones last."""
    states = Counter(map(unit_state, units))
    listed = top_rows(
        newest_first(units), lambda unit: _RANKS.get(unit_state(unit), _OTHER_RANK), unit_row
    )
    return UnitsView(states=dict(sorted(states.items())), listed=listed)


def unit_row(unit: DashboardUnit) -> UnitRow:
    """Return the row of one unit."""
    reason, message = ready_reason_and_message(unit.status.conditions)
    return UnitRow(
        name=unit.metadata.name,
        state=unit_state(unit),
        spec_name=unit.spec.spec_name,
        gpu=unit.spec.gpu,
        reason=reason,
        message=message,
        node=unit.status.node_name,
        created_at=unit.metadata.creation_timestamp,
    )


def unit_state(unit: DashboardUnit) -> str:
    """Return the phase, or Deleting; Progressing before the first status."""
    if unit.metadata.deletion_timestamp is not None:
        return DELETING
    return unit.status.phase or UnitPhase.PROGRESSING.value
