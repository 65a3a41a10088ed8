"""Tests of condition reasons: Kubernetes accepts each of them."""

import re
from collections.abc import Iterator
from enum import EnumType, StrEnum
from types import ModuleType
from typing import cast

import msgspec
import pytest

from shared.k8s.meta import Condition
from shared.v1alpha1 import phases, reasons
from shared.v1alpha1.reasons import (
    ConditionType,
    PoolReason,
    StorageReason,
    UnitReason,
    WorkerReason,
)


@pytest.mark.parametrize("reason", [*UnitReason, *WorkerReason, *PoolReason, *StorageReason])
def test_every_reason_can_stand_in_a_condition(reason: StrEnum) -> None:
    written = Condition(
        type=ConditionType.READY,
        status="False",
        last_transition_time="2026-01-01T00:00:00Z",
        reason=reason,
        message="",
    )
    read = msgspec.json.decode(msgspec.json.encode(written), type=Condition)
    assert read.reason == reason


def words(module: ModuleType) -> Iterator[StrEnum]:
    for found in vars(module).values():
        if isinstance(found, EnumType):
            yield from cast(type[StrEnum], found)


@pytest.mark.parametrize("word", [*words(phases), *words(reasons)])
def test_every_word_is_in_camel_case(word: StrEnum) -> None:
    assert re.fullmatch(r"([A-Z][a-z]+)+", word)
