"""What a process of ours has logged, read as strictly as a machine would."""

import re
from pathlib import Path

_FIELD = r'[A-Za-z0-9_.-]+=(?:"(?:[^"\\]|\\.)*"|[^" =\\]*)'
_LINE = re.compile(rf"{_FIELD}(?: {_FIELD})*")
_EACH = re.compile(r'([A-Za-z0-9_.-]+)=("(?:[^"\\]|\\.)*"|[^" =\\]*)')


def parsed(log: Path) -> list[dict[str, str]]:
    """The fields of every line; fails on a line that is not one of ours."""
    lines = log.read_text().split("\n")[:-1]
    return [fields(line) for line in lines]


def fields(line: str) -> dict[str, str]:
    assert line.startswith("ts="), line
    assert line.isprintable(), line
    assert _LINE.fullmatch(line), line
    found = _EACH.findall(line)
    assert len(dict(found)) == len(found), line
    return dict(found)
