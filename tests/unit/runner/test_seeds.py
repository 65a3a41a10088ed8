"""Tests of seeds: one seed determines all random schedules of a run."""

import pytest

from tests.runner.seeds import SEED_VARIABLE, choose_seed, draw_seeds


def test_the_same_run_seed_draws_the_same_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SEED_VARIABLE, "7")
    assert choose_seed() == "7"
    assert draw_seeds("kills", 2) == draw_seeds("kills", 2)
    assert draw_seeds("kills", 2)[:1] == draw_seeds("kills")
    assert draw_seeds("kills") != draw_seeds("faults")


def test_another_run_seed_draws_other_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SEED_VARIABLE, "7")
    before = draw_seeds("kills")
    monkeypatch.setenv(SEED_VARIABLE, "8")
    assert draw_seeds("kills") != before


def test_a_run_without_a_seed_draws_one_for_all_its_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(SEED_VARIABLE)
    assert choose_seed() == choose_seed()
