"""Real processes with their accounts that lose connections midway: each caller is served once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hack.cluster.control_plane import ControlPlane
from hack.local import product_processes
from tests.support.checks.operation_invariants import check_all_served, check_invariants
from tests.support.checks.operations_snapshot import final_state
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.cluster.kube_gateway import PatientRestClient, open_gateway
from tests.support.cluster.product_processes import ProductProcess, run_product_process
from tests.support.faults.real_environment import RealEnvironment
from tests.support.faults.retrying_http_callers import RetryingHttpCallers

CALLERS = 30
SPEC = "g"
# Late enough that some requests are served, and early enough that others are not.
FAULT_DELAY_SECONDS = 0.3

pytestmark = pytest.mark.timeout(900)  # a minute, but longer on a slow machine


@dataclass(frozen=True)
class System:
    """Two replicas of the API and a controller in one installation."""

    plane: ControlPlane
    environment: RealEnvironment
    replicas: tuple[ProductProcess, ProductProcess]
    controller: ProductProcess
    callers: RetryingHttpCallers


Fault = Callable[[System], Awaitable[None]]


@pytest.fixture
async def system(
    installed_control_plane: ControlPlane, installation: IsolatedInstallation, tmp_path: Path
) -> AsyncIterator[System]:
    api = namespace_changes(installation) | {"kubeconfig": str(installation.api_kubeconfig)}
    election = {"enabled": False, "namespace": installation.namespaces.system}
    controller = namespace_changes(installation) | {
        "kubeconfig": str(installation.kubeconfig),
        "leaderElection": election,
    }
    async with (
        open_gateway(installation.api_kubeconfig, client_class=PatientRestClient) as observer,
        run_product_process(
            product_processes.CONTROLLER, tmp_path / "controller", controller
        ) as controlling,
        run_product_process(product_processes.RUNTIME_API, tmp_path / "one", api) as one,
        run_product_process(product_processes.RUNTIME_API, tmp_path / "two", api) as two,
    ):
        callers = RetryingHttpCallers([one.url, two.url], SPEC)
        environment = RealEnvironment(installation, observer, observer)
        yield System(installed_control_plane, environment, (one, two), controlling, callers)


def namespace_changes(installation: IsolatedInstallation) -> dict[str, Any]:
    names = installation.namespaces
    namespaces = {"stock": names.stock, "instance": names.instance, "system": names.system}
    return {"namespaces": namespaces}


async def kill_replica(system: System) -> None:
    process = system.replicas[0].process
    await process.kill()
    process.start()


async def kill_controller(system: System) -> None:
    process = system.controller.process
    await process.kill()
    process.start()


async def restart_api_server(system: System) -> None:
    await system.plane.kube_apiserver.kill()
    system.plane.kube_apiserver.start()
    await system.plane.wait_apiserver_ready()


async def disconnect_callers(system: System) -> None:
    """Close the callers' connections right after they send a request that they repeat later."""
    await asyncio.gather(
        *(system.callers.send_and_disconnect(f"u{number}") for number in range(0, CALLERS, 2))
    )


@pytest.mark.parametrize(
    "fault",
    [
        kill_replica,
        kill_controller,
        restart_api_server,
        disconnect_callers,
    ],
)
async def test_every_concurrent_create_is_served_once_during_faults(
    system: System, fault: Fault
) -> None:
    created_by_hand = await system.environment.create_all_ready_stock(CALLERS, SPEC)
    callers = system.callers
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
        for number in range(CALLERS):
            group.create_task(callers.create(session, f"u{number}"))
        await asyncio.sleep(FAULT_DELAY_SECONDS)
        await fault(system)
    state = final_state(
        await system.environment.wait_final_snapshot(),
        callers.results,
        created_by_hand=created_by_hand,
    )

    check_invariants(state)
    check_all_served(state)
    assert (len(state.units), len(state.stock)) == (CALLERS, 0)
