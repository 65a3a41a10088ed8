"""Who led from when to when, as the candidates wrote it down themselves."""

import itertools
from dataclasses import dataclass
from pathlib import Path

NANOSECONDS = 1e-9


@dataclass(frozen=True)
class Reign:
    """One leadership: its first and its last fenced act, in seconds of the machine's clock."""

    identity: str
    begin: float
    last: float
    beats: int
    ended: bool


def reigns(log: Path) -> list[Reign]:
    """The leaderships in a log, by their beginning."""
    acts: dict[str, list[list[tuple[float, str]]]] = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        moment, identity, what = line.split()
        terms = acts.setdefault(identity, [])
        if what == "begin":
            terms.append([])
        terms[-1].append((int(moment) * NANOSECONDS, what))
    found = [reign(identity, term) for identity, terms in acts.items() for term in terms]
    return sorted(found, key=lambda one: one.begin)


def reign(identity: str, acts: list[tuple[float, str]]) -> Reign:
    moments = [moment for moment, _ in acts]
    kinds = [what for _, what in acts]
    return Reign(
        identity, min(moments), max(moments), kinds.count("beat"), ended=kinds[-1] == "end"
    )


def overlaps(found: list[Reign]) -> list[tuple[Reign, Reign]]:
    """Every two leaderships that share a moment."""
    return [
        (one, other)
        for one, other in itertools.combinations(found, 2)
        if one.begin <= other.last and other.begin <= one.last
    ]
