"""Payloads that are received at once are bounded."""

import pytest

from apiserver.errors import ServiceUnavailableError
from apiserver.http.byte_budget import InFlightBytes


def test_what_does_not_fit_is_refused_until_there_is_room() -> None:
    bytes_ = InFlightBytes(100)
    with bytes_.reserved(60):
        with (
            bytes_.reserved(40),
            pytest.raises(ServiceUnavailableError),
            bytes_.reserved(1),
        ):
            pass
        with bytes_.reserved(40):
            pass


def test_one_that_is_larger_than_all_fits_alone() -> None:
    bytes_ = InFlightBytes(100)
    with bytes_.reserved(1000), pytest.raises(ServiceUnavailableError), bytes_.reserved(1):
        pass
    with bytes_.reserved(1):
        pass
