"""Tests of the byte budget: the payloads received at the same time are bounded."""

import pytest

from apiserver.errors import ServiceUnavailableError
from apiserver.http.byte_budget import ByteBudget


def test_a_reservation_beyond_the_byte_budget_is_refused() -> None:
    budget = ByteBudget(100)
    with budget.reserve(60):
        with (
            budget.reserve(40),
            pytest.raises(ServiceUnavailableError),
            budget.reserve(1),
        ):
            pass
        with budget.reserve(40):
            pass


def test_a_reservation_above_the_whole_budget_is_allowed_alone() -> None:
    budget = ByteBudget(100)
    with budget.reserve(1000), pytest.raises(ServiceUnavailableError), budget.reserve(1):
        pass
    with budget.reserve(1):
        pass
