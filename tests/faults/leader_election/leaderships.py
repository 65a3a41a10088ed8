"""The periods of leadership, as the candidates logged them."""

import itertools
from dataclasses import dataclass
from pathlib import Path

NANOSECONDS = 1e-9


@dataclass(frozen=True)
class Leadership:
    """One leadership: its first and last fenced act, in seconds of the machine's monotonic
    clock.
    """

    identity: str
    first_act: float
    last_act: float
    act_count: int
    was_released: bool


def read_leaderships(log: Path) -> list[Leadership]:
    """Return the leaderships in a log, sorted by their beginning."""
    acts: dict[str, list[list[tuple[float, str]]]] = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        moment, identity, what = line.split()
        terms = acts.setdefault(identity, [])
        if what == "begin":
            terms.append([])
        terms[-1].append((int(moment) * NANOSECONDS, what))
    found = [new_leadership(identity, term) for identity, terms in acts.items() for term in terms]
    return sorted(found, key=lambda one: one.first_act)


def new_leadership(identity: str, acts: list[tuple[float, str]]) -> Leadership:
    moments = [moment for moment, _ in acts]
    kinds = [what for _, what in acts]
    return Leadership(
        identity, min(moments), max(moments), kinds.count("beat"), was_released=kinds[-1] == "end"
    )


def overlaps(leaderships: list[Leadership]) -> list[tuple[Leadership, Leadership]]:
    """Return every pair of leaderships that overlap in time."""
    return [
        (one, other)
        for one, other in itertools.combinations(leaderships, 2)
        if one.first_act <= other.last_act and other.first_act <= one.last_act
    ]
