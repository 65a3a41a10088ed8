"""Payloads that are received at once are bounded."""

import pytest

from apiserver.errors import ServiceUnavailableError
from apiserver.http.byte_budget import ByteBudget


def test_what_does_not_fit_is_refused_until_there_is_room() -> None:
    bytes_ = ByteBudget(100)
    with bytes_.reserve(60):
        with (
            bytes_.reserve(40),
            pytest.raises(ServiceUnavailableError),
            bytes_.reserve(1),
        ):
            pass
        with bytes_.reserve(40):
            pass


def test_one_that_is_larger_than_all_fits_alone() -> None:
    bytes_ = ByteBudget(100)
    with bytes_.reserve(1000), pytest.raises(ServiceUnavailableError), bytes_.reserve(1):
        pass
    with bytes_.reserve(1):
        pass
