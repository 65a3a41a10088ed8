"""Measurements as a table to read and as JSON to compare."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HEADER = ("what", "ours", "anchor", "ratio", "target")


@dataclass(frozen=True)
class Measure:
    """One row; `ours` or `anchor` is None if there is nothing to compare."""

    what: str
    ours: float | None
    anchor: float | None
    ratio: float | None
    target: str
    unit: str = "s"


def new_measure(
    what: str, ours: float | None, anchor: float | None, target: str = "", unit: str = "s"
) -> Measure:
    """Return a row with the ratio of its numbers."""
    ratio = ours / anchor if ours is not None and anchor else None
    return Measure(what, ours, anchor, ratio, target, unit)


def text_table(measures: Sequence[Measure]) -> str:
    """Return one line for each measurement, in columns."""
    rows = [HEADER, *(row_cells(measure) for measure in measures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]]) + "\n"


def row_cells(measure: Measure) -> tuple[str, ...]:
    return (
        measure.what,
        with_unit(measure.ours, measure.unit),
        with_unit(measure.anchor, measure.unit),
        "-" if measure.ratio is None else f"{measure.ratio:.2f}x",
        measure.target,
    )


def with_unit(value: float | None, unit: str) -> str:
    """Format seconds as s, ms or us, and other units unchanged."""
    if value is None:
        return "-"
    if unit != "s":
        digits = 0 if value >= 100 or value == int(value) else 2
        return f"{value:,.{digits}f} {unit}"
    for scale, name in ((1.0, "s"), (1e-3, "ms")):
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value / 1e-6:.3g} us"


def write_json(measures: Sequence[Measure], path: Path) -> None:
    """Write the measurements for a comparison of runs."""
    path.write_text(json.dumps([asdict(measure) for measure in measures], indent=2) + "\n")
