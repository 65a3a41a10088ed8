"""The periods of leadership, as the candidates logged them."""

import itertools
from dataclasses import dataclass
from pathlib import Path

NANOSECONDS = 1e-9


@dataclass(frozen=True)
class Leadership:
    """One leadership, with the times of its first and last fenced act in monotonic seconds."""

    identity: str
    first_act: float
    last_act: float
    act_count: int
    was_released: bool


def read_leaderships(log: Path) -> list[Leadership]:
    """Return the leaderships in a log, sorted by their beginning."""
    acts: dict[str, list[list[tuple[float, str]]]] = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        nanoseconds, identity, act = line.split()
        terms = acts.setdefault(identity, [])
        if act == "begin":
            terms.append([])
        terms[-1].append((int(nanoseconds) * NANOSECONDS, act))
    leaderships = [
        new_leadership(identity, term) for identity, terms in acts.items() for term in terms
    ]
    return sorted(leaderships, key=lambda leadership: leadership.first_act)


def new_leadership(identity: str, acts: list[tuple[float, str]]) -> Leadership:
    times = [time for time, _ in acts]
    kinds = [kind for _, kind in acts]
    return Leadership(
        identity, min(times), max(times), kinds.count("beat"), was_released=kinds[-1] == "end"
    )


def overlaps(leaderships: list[Leadership]) -> list[tuple[Leadership, Leadership]]:
    """Return every pair of leaderships that overlap in time."""
    return [
        (first, second)
        for first, second in itertools.combinations(leaderships, 2)
        if first.first_act <= second.last_act and second.first_act <= first.last_act
    ]
