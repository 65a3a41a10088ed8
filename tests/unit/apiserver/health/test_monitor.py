"""The monitor keeps the state fresh."""

from apiserver.health.monitor import ClusterMonitor
from apiserver.kube import errors as kube_errors
from shared.k8s.server_version import ServerVersion
from tests.support.clocks.auto_advance_clock import VirtualClock
from tests.unit.apiserver.scripted_gateway import DOWN, V1_34, ScriptedGateway


async def test_the_server_is_probed_every_two_seconds_and_nodes_listed_every_ten() -> None:
    gateway, clock = ScriptedGateway(), VirtualClock(end=20)
    await clock.run_to_end(ClusterMonitor(gateway, gateway, clock).run())
    assert (gateway.probes, gateway.lists) == (11, 3)


async def test_an_outage_is_known_at_the_next_probe() -> None:
    gateway, clock = ScriptedGateway(V1_34, DOWN), VirtualClock(end=2)
    monitor = ClusterMonitor(gateway, gateway, clock)
    await clock.run_to_end(monitor.run())
    assert (monitor.state.connected, monitor.state.error) == (False, str(DOWN))


async def test_a_return_is_known_at_the_next_probe_and_nodes_are_listed_at_once() -> None:
    gateway, clock = ScriptedGateway(V1_34, DOWN, V1_34), VirtualClock(end=4)
    monitor = ClusterMonitor(gateway, gateway, clock)
    await clock.run_to_end(monitor.run())
    assert monitor.state.connected
    assert gateway.lists == 2


async def test_a_cluster_that_refuses_the_list_is_connected_and_says_so() -> None:
    gateway, clock = ScriptedGateway(), VirtualClock(end=2)
    gateway.listing = kube_errors.ClusterRefusedError("nodes is forbidden")
    monitor = ClusterMonitor(gateway, gateway, clock)
    await clock.run_to_end(monitor.run())
    assert monitor.state.connected
    assert monitor.state.inventory_error == "nodes is forbidden"


async def test_a_server_that_is_too_old_does_not_count_as_connected() -> None:
    old = ServerVersion(major="1", minor="30", git_version="v1.30.0")
    gateway = ScriptedGateway(old)
    monitor = ClusterMonitor(gateway, gateway, VirtualClock())
    await monitor.probe()
    assert not monitor.state.connected
    assert "v1.30.0" in (monitor.state.error or "")
