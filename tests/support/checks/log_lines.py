"""The log of a product process, parsed strictly."""

import re
from pathlib import Path

_FIELD = r'[A-Za-z0-9_.-]+=(?:"(?:[^"\\]|\\.)*"|[^" =\\]*)'
_LINE = re.compile(rf"{_FIELD}(?: {_FIELD})*")
_FIELD_MATCH = re.compile(r'([A-Za-z0-9_.-]+)=("(?:[^"\\]|\\.)*"|[^" =\\]*)')


def parse_log(path: Path) -> list[dict[str, str]]:
    """Return the fields of every line; raises AssertionError on a line that is not logfmt."""
    lines = path.read_text().split("\n")[:-1]
    return [parse_line(line) for line in lines]


def parse_line(line: str) -> dict[str, str]:
    """Return the fields of a line; raises AssertionError if it is not in our logfmt."""
    assert line.startswith("ts="), line
    assert line.isprintable(), line
    assert _LINE.fullmatch(line), line
    fields = _FIELD_MATCH.findall(line)
    assert len(dict(fields)) == len(fields), line
    return dict(fields)
