"""The invariants of operations under two thousand random schedules, on the model of the API server.

A failure names its seed; `python -m tests.model --seed N --schedules 1` repeats it.
"""

import pytest

from tests.model.run_plan import run_and_check_all

CHUNK = 250


@pytest.mark.parametrize("first", range(0, 2000, CHUNK))
def test_the_invariants_hold_in_random_schedules_on_the_model(first: int) -> None:
    outcomes = set()
    for state in run_and_check_all(range(first, first + CHUNK)):
        outcomes |= {result.error_code or "served" for result in state.results}

    refusals = {"insufficient_capacity", "conflict", "already_exists", "operation_conflict"}
    assert outcomes >= {"served", *refusals}, "the schedules cover too few outcomes"
