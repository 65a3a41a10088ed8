"""Real processes with their accounts lose each other in the middle: everybody is served once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hack.cluster.control_plane import ControlPlane
from hack.local import product_processes
from tests.support.checks.operation_invariants import check, everybody_is_served
from tests.support.checks.operations_snapshot import rest_of
from tests.support.cluster.isolated_installation import Site
from tests.support.cluster.kube_gateway import ObserverClient, gateway_of
from tests.support.cluster.product_processes import Running, running
from tests.support.cluster.real_environment import RealWorld
from tests.support.http.retrying_http_callers import HttpCallers

CALLERS = 30
SPEC = "g"
# Late enough that some are served and early enough that others are not.
MOMENT = 0.3

pytestmark = pytest.mark.timeout(900)  # a minute, but not on every machine


@dataclass(frozen=True)
class System:
    """Two replicas of the API and a controller on one site."""

    plane: ControlPlane
    world: RealWorld
    replicas: tuple[Running, Running]
    controller: Running
    callers: HttpCallers


Calamity = Callable[[System], Awaitable[None]]


@pytest.fixture
async def system(installed: ControlPlane, site: Site, tmp_path: Path) -> AsyncIterator[System]:
    api = changes(site) | {"kubeconfig": str(site.api_kubeconfig)}
    election = {"enabled": False, "namespace": site.namespaces.system}
    controller = changes(site) | {"kubeconfig": str(site.kubeconfig), "leaderElection": election}
    async with (
        gateway_of(site.api_kubeconfig, client=ObserverClient) as observer,
        running(product_processes.CONTROLLER, tmp_path / "controller", controller) as controlling,
        running(product_processes.RUNTIME_API, tmp_path / "one", api) as one,
        running(product_processes.RUNTIME_API, tmp_path / "two", api) as two,
    ):
        callers = HttpCallers([one.url, two.url], SPEC)
        world = RealWorld(site, observer, observer)
        yield System(installed, world, (one, two), controlling, callers)


def changes(site: Site) -> dict[str, Any]:
    names = site.namespaces
    where = {"stock": names.stock, "instance": names.instance, "system": names.system}
    return {"namespaces": where}


async def a_replica_is_killed(system: System) -> None:
    process = system.replicas[0].process
    await process.kill()
    process.start()


async def the_controller_is_killed(system: System) -> None:
    process = system.controller.process
    await process.kill()
    process.start()


async def the_api_server_is_restarted(system: System) -> None:
    await system.plane.kube_apiserver.kill()
    system.plane.kube_apiserver.start()
    await system.plane.server_ready()


async def callers_go_away(system: System) -> None:
    """Right after sending what they will ask for again."""
    await asyncio.gather(*(system.callers.leave(f"u{number}") for number in range(0, CALLERS, 2)))


@pytest.mark.parametrize(
    "calamity",
    [
        a_replica_is_killed,
        the_controller_is_killed,
        the_api_server_is_restarted,
        callers_go_away,
    ],
)
async def test_everybody_is_served_once_although(system: System, calamity: Calamity) -> None:
    by_hand = await system.world.put_all(CALLERS, SPEC)
    callers = system.callers
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
        for number in range(CALLERS):
            group.create_task(callers.create(session, f"u{number}"))
        await asyncio.sleep(MOMENT)
        await calamity(system)
    rest = rest_of(await system.world.left(), callers.answers, by_hand=by_hand)

    check(rest)
    everybody_is_served(rest)
    assert (len(rest.units), len(rest.stock)) == (CALLERS, 0)
