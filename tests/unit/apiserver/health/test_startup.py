"""Tests of startup: a process that needs a cluster waits for the cluster for a limited time."""

import logging

import pytest

from apiserver.health.monitor import ClusterMonitor
from apiserver.health.startup import ClusterNotReadyError, wait_for_cluster
from shared.k8s.server_version import ServerVersion
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock
from tests.unit.apiserver.scripted_gateway import UNREACHABLE, V1_34, ScriptedGateway


async def wait(gateway: ScriptedGateway, clock: AutoAdvanceClock) -> None:
    await wait_for_cluster(ClusterMonitor(gateway, gateway, clock), clock, timeout_seconds=30.0)


async def test_a_connected_cluster_ends_the_wait_at_once() -> None:
    clock = AutoAdvanceClock()
    await wait(ScriptedGateway(), clock)
    assert clock.monotonic() == 0


async def test_a_cluster_that_connects_late_ends_the_wait() -> None:
    clock = AutoAdvanceClock()
    await wait(ScriptedGateway(*[UNREACHABLE] * 7, V1_34), clock)
    assert clock.monotonic() == 7


async def test_an_unreachable_cluster_fails_the_start_with_the_reason() -> None:
    clock = AutoAdvanceClock()
    with pytest.raises(
        ClusterNotReadyError, match=r"no connection within 30 s: https://k8s cannot be"
    ):
        await wait(ScriptedGateway(UNREACHABLE), clock)
    assert clock.monotonic() == 30


async def test_a_wait_for_the_cluster_is_logged_every_five_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(ClusterNotReadyError):
        await wait(ScriptedGateway(UNREACHABLE), AutoAdvanceClock())
    assert [record.message for record in caplog.records] == ["waiting_for_cluster"] * 6


async def test_an_unsupported_version_fails_the_start_at_once() -> None:
    clock = AutoAdvanceClock()
    old = ServerVersion(major="1", minor="32", git_version="v1.32.0")
    with pytest.raises(ClusterNotReadyError, match=r"the minimum version is 1\.33"):
        await wait(ScriptedGateway(old), clock)
    assert clock.monotonic() == 0
