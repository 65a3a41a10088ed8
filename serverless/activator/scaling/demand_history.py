"""How many workers were needed, and until when: one that was needed a moment ago stays a while."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Demand:
    """So many workers were needed last then, in milliseconds since 1970."""

    workers: int
    until: int


def update_history(
    history: Sequence[Demand], desired: int, count: int, now: int
) -> tuple[Demand, ...]:
    """The needs as of now, the greatest first: those that were above `desired`, and that.

    The last one that was remembered has lasted until now. Nobody knows who has needed workers
    beyond all that is remembered: then the wait begins anew.
    """
    if not history or history[0].workers < count:
        lasted: tuple[Demand, ...] = (Demand(count, now),)
    else:
        lasted = (*history[:-1], Demand(history[-1].workers, now))
    return (*(each for each in lasted if each.workers > desired), Demand(desired, now))


def last_needed_at(history: Sequence[Demand], count: int) -> int:
    """When so many workers were needed last."""
    return max(each.until for each in history if each.workers >= count)
