"""The history of demand: workers that were needed a moment ago are kept for a while."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Demand:
    """A number of workers, and until when it was needed, in milliseconds since 1970."""

    workers: int
    until: int


def update_history(
    history: Sequence[Demand], desired: int, count: int, now: int
) -> tuple[Demand, ...]:
    """Return the new history, largest first: past demands above `desired`, then `desired`.

    The last demand lasted until now. If there are more workers than were ever needed, the time in
    which they are kept begins now.
    """
    if not history or history[0].workers < count:
        extended: tuple[Demand, ...] = (Demand(count, now),)
    else:
        extended = (*history[:-1], Demand(history[-1].workers, now))
    return (*(demand for demand in extended if demand.workers > desired), Demand(desired, now))


def last_needed_at(history: Sequence[Demand], count: int) -> int:
    """Return when that number of workers was needed last."""
    return max(demand.until for demand in history if demand.workers >= count)
