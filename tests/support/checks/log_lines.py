"""What a process of ours has logged, read as strictly as a machine would."""

import re
from pathlib import Path

_FIELD = r'[A-Za-z0-9_.-]+=(?:"(?:[^"\\]|\\.)*"|[^" =\\]*)'
_LINE = re.compile(rf"{_FIELD}(?: {_FIELD})*")
_FIELD_MATCH = re.compile(r'([A-Za-z0-9_.-]+)=("(?:[^"\\]|\\.)*"|[^" =\\]*)')


def parse_log(path: Path) -> list[dict[str, str]]:
    """The fields of every line; fails on a line that is not one of ours."""
    lines = path.read_text().split("\n")[:-1]
    return [parse_line(line) for line in lines]


def parse_line(line: str) -> dict[str, str]:
    assert line.startswith("ts="), line
    assert line.isprintable(), line
    assert _LINE.fullmatch(line), line
    found = _FIELD_MATCH.findall(line)
    assert len(dict(found)) == len(found), line
    return dict(found)
