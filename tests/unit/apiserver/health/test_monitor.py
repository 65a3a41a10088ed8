"""Tests of the cluster monitor: it keeps the state up to date."""

from apiserver.health.monitor import ClusterMonitor
from apiserver.kube import errors as kube_errors
from shared.k8s.server_version import ServerVersion
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock
from tests.unit.apiserver.scripted_gateway import UNREACHABLE, V1_34, ScriptedGateway


async def test_the_server_is_probed_every_two_seconds_and_nodes_listed_every_ten() -> None:
    gateway, clock = ScriptedGateway(), AutoAdvanceClock(end_seconds=20)
    await clock.run_to_end(ClusterMonitor(gateway, gateway, clock).run())
    assert (gateway.probe_count, gateway.list_count) == (11, 3)


async def test_the_next_probe_detects_an_outage() -> None:
    gateway, clock = ScriptedGateway(V1_34, UNREACHABLE), AutoAdvanceClock(end_seconds=2)
    monitor = ClusterMonitor(gateway, gateway, clock)
    await clock.run_to_end(monitor.run())
    assert (monitor.state.is_connected, monitor.state.error) == (False, str(UNREACHABLE))


async def test_the_next_probe_detects_a_recovery_and_nodes_are_listed_at_once() -> None:
    gateway, clock = ScriptedGateway(V1_34, UNREACHABLE, V1_34), AutoAdvanceClock(end_seconds=4)
    monitor = ClusterMonitor(gateway, gateway, clock)
    await clock.run_to_end(monitor.run())
    assert monitor.state.is_connected
    assert gateway.list_count == 2


async def test_a_forbidden_list_is_reported_while_the_cluster_stays_connected() -> None:
    gateway, clock = ScriptedGateway(), AutoAdvanceClock(end_seconds=2)
    gateway.nodes_result = kube_errors.ForbiddenError("nodes is forbidden")
    monitor = ClusterMonitor(gateway, gateway, clock)
    await clock.run_to_end(monitor.run())
    assert monitor.state.is_connected
    assert monitor.state.inventory_error == "nodes is forbidden"


async def test_an_unsupported_version_does_not_count_as_connected() -> None:
    old = ServerVersion(major="1", minor="30", git_version="v1.30.0")
    gateway = ScriptedGateway(old)
    monitor = ClusterMonitor(gateway, gateway, AutoAdvanceClock())
    await monitor.probe()
    assert not monitor.state.is_connected
    assert "v1.30.0" in (monitor.state.error or "")
