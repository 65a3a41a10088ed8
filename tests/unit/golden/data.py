"""Data files of this folder: the inputs and outputs of release 0.1.0."""

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
    """Input and output of the release, as JSON values."""

    given: Any
    made: Any


def cases(topic: str, part: str) -> list[ParameterSet]:
    """Read the cases of one part of a data file as pytest parameters with names."""
    return [pytest.param(case, id=name) for name, case in cases_by_name(topic, part).items()]


def cases_by_name(topic: str, part: str) -> dict[str, Case]:
    """Read the cases of one part of a data file by their names."""
    found = json.loads((HERE / f"{topic}.json").read_text())[part]
    return {name: Case(case["given"], case["made"]) for name, case in found.items()}


def plain(value: object) -> Any:
    """Convert a value to the result of decoding its JSON."""
    return json.loads(msgspec.json.encode(value))
