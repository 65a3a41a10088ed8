"""Tests of the status log: one line per interval."""

import logging

import pytest

from apiserver.health.cluster_state import KUBERNETES_OFF
from apiserver.health.schemas import HealthSchema
from apiserver.health.service import HealthService
from apiserver.health.status_log import StatusReporter
from apiserver.nats.port import ConnectionStatus
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock


async def test_health_is_logged_at_start_and_at_each_interval(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = AutoAdvanceClock(end_seconds=120)
    health = HealthService(
        "0.1.0", clock, lambda: KUBERNETES_OFF, lambda: ConnectionStatus(connected=True)
    )
    with caplog.at_level(logging.INFO):
        await clock.run_to_end(StatusReporter(health, HealthSchema().dump, clock, 60.0).run())
    assert [record.message for record in caplog.records] == ["runtime_status"] * 3
    assert [vars(record)["uptimeSeconds"] for record in caplog.records] == [0, 60, 120]
