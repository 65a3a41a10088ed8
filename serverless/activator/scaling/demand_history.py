"""How many workers were needed, and until when: one that was needed a moment ago stays a while."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Need:
    """So many workers were needed last then, in milliseconds since 1970."""

    workers: int
    until: int


def remembered(needs: Sequence[Need], desired: int, count: int, now: int) -> tuple[Need, ...]:
    """The needs as of now, the greatest first: those that were above `desired`, and that.

    The last one that was remembered has lasted until now. Nobody knows who has needed workers
    beyond all that is remembered: then the wait begins anew.
    """
    if not needs or needs[0].workers < count:
        lasted: tuple[Need, ...] = (Need(count, now),)
    else:
        lasted = (*needs[:-1], Need(needs[-1].workers, now))
    return (*(each for each in lasted if each.workers > desired), Need(desired, now))


def needed_until(needs: Sequence[Need], count: int) -> int:
    """When so many workers were needed last."""
    return max(each.until for each in needs if each.workers >= count)
