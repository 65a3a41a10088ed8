"""The data files of this folder: what release 0.1.0 was given, and what it made of it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from _pytest.mark import ParameterSet

HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Case:
    """What the release was given, and what it made of it, as JSON values."""

    given: Any
    made: Any


def cases(topic: str, part: str) -> list[ParameterSet]:
    """Read the cases of one part of a data file, each with its name."""
    return [pytest.param(case, id=name) for name, case in cases_by_name(topic, part).items()]


def cases_by_name(topic: str, part: str) -> dict[str, Case]:
    """Read the cases of one part of a data file."""
    found = json.loads((HERE / f"{topic}.json").read_text())[part]
    return {name: Case(each["given"], each["made"]) for name, each in found.items()}


def plain(value: object) -> Any:
    """Turn a value into what reading it as JSON would give."""
    return json.loads(msgspec.json.encode(value))
