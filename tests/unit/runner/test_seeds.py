"""All drawn schedules of a run follow from one seed."""

import pytest

from tests.runner.seeds import VARIABLE, choose_seed, seeds


def test_the_same_run_draws_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "7")
    assert choose_seed() == "7"
    assert seeds("kills", 2) == seeds("kills", 2)
    assert seeds("kills", 2)[:1] == seeds("kills")
    assert seeds("kills") != seeds("faults")


def test_another_run_draws_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "7")
    before = seeds("kills")
    monkeypatch.setenv(VARIABLE, "8")
    assert seeds("kills") != before


def test_a_run_without_a_seed_is_given_one_for_its_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE)
    assert choose_seed() == choose_seed()
