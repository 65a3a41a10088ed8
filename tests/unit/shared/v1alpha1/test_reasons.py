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
def test_every_reason_is_valid_in_a_condition(reason: StrEnum) -> None:
    condition = Condition(
        type=ConditionType.READY,
        status="False",
        last_transition_time="2026-01-01T00:00:00Z",
        reason=reason,
        message="",
    )
    decoded = msgspec.json.decode(msgspec.json.encode(condition), type=Condition)
    assert decoded.reason == reason


def enum_members(module: ModuleType) -> Iterator[StrEnum]:
    for value in vars(module).values():
        if isinstance(value, EnumType):
            yield from cast(type[StrEnum], value)


@pytest.mark.parametrize("member", [*enum_members(phases), *enum_members(reasons)])
def test_every_phase_and_reason_is_in_camel_case(member: StrEnum) -> None:
    assert re.fullmatch(r"([A-Z][a-z]+)+", member)
