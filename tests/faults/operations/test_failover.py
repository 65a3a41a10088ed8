"""Two replicas of each program with the shipped settings: the loss of one loses no unit."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from apiserver.http.paths import UNITS
from hack.cluster.control_plane import ControlPlane
from hack.cluster.readiness import responds_ok, wait_until
from hack.local import product_processes
from tests.support.builders.full_cluster import ready_units
from tests.support.checks.operation_invariants import (
    CallerResult,
    check_all_served,
    check_invariants,
)
from tests.support.checks.operations_snapshot import final_state
from tests.support.cluster.isolated_installation import MAX_WATCH_GAP_SECONDS, IsolatedInstallation
from tests.support.cluster.kube_gateway import PatientRestClient, open_gateway
from tests.support.cluster.overlays import overlay_settings, render_overlay
from tests.support.cluster.product_processes import ProductProcess, run_product_process
from tests.support.cluster.running_product import namespace_settings
from tests.support.faults.real_environment import RealEnvironment
from tests.support.http.get import get
from tests.support.http.load_balanced_client import LoadBalancedClient
from tests.support.wait.eventually import eventually

SPEC = "g"
BATCH = 6
READERS = 3
LEASE = "gpu-runtime-controller"
LEADER_METRIC = f'leader_election_master_status{{name="{LEASE}"}} 1.0'
REPLACED_SETTINGS = ("httpAddr", "probeAddr", "metricsAddr", "nats")


@dataclass(frozen=True)
class System:
    """Two controllers and two APIs in one installation, and the callers' load balancer."""

    installation: IsolatedInstallation
    environment: RealEnvironment
    controllers: tuple[ProductProcess, ProductProcess]
    replicas: tuple[ProductProcess, ProductProcess]
    load_balancer: LoadBalancedClient
    results: list[CallerResult]

    async def create(self, first: int) -> None:
        """Create a batch of units at once, and note for each caller a result with a new unit."""
        names = [f"u{number}" for number in range(first, first + BATCH)]
        await asyncio.gather(*map(self._create, names))

    async def _create(self, name: str) -> None:
        request = {"operationID": name, "name": name, "specName": SPEC, "image": "example/image:1"}
        created = await self.load_balancer.request("POST", UNITS, request)
        self.results.append(CallerResult(name, is_new=True, unit_uid=created["data"]["uid"]))

    async def lease(self) -> dict[str, Any]:
        root = f"/apis/coordination.k8s.io/v1/namespaces/{self.installation.namespaces.system}"
        spec: dict[str, Any] = (await self.installation.admin.get(f"{root}/leases/{LEASE}"))["spec"]
        return spec


@pytest.fixture
async def system(
    installed_control_plane: ControlPlane, installation: IsolatedInstallation, tmp_path: Path
) -> AsyncIterator[System]:
    objects = await render_overlay(installed_control_plane, "default")
    async with (
        open_gateway(installation.api_kubeconfig, client_class=PatientRestClient) as observer,
        AsyncExitStack() as processes,
    ):

        async def start(program: product_processes.ProductProgram, name: str) -> ProductProcess:
            changes = shipped_settings(objects, program, installation)
            return await processes.enter_async_context(
                run_product_process(program, tmp_path / name, changes)
            )

        leading, standby, one, two = await asyncio.gather(
            start(product_processes.CONTROLLER, "controller-one"),
            start(product_processes.CONTROLLER, "controller-two"),
            start(product_processes.RUNTIME_API, "one"),
            start(product_processes.RUNTIME_API, "two"),
        )
        environment = RealEnvironment(installation, observer, observer)
        load_balancer = await processes.enter_async_context(LoadBalancedClient(one.url, two.url))
        yield System(installation, environment, (leading, standby), (one, two), load_balancer, [])


def shipped_settings(
    objects: list[dict[str, Any]],
    program: product_processes.ProductProgram,
    installation: IsolatedInstallation,
) -> dict[str, Any]:
    """Return the manifests' settings, with the namespaces of the test."""
    settings = overlay_settings(objects, program.name)
    settings_kept = {key: value for key, value in settings.items() if key not in REPLACED_SETTINGS}
    if program is product_processes.RUNTIME_API:
        return {
            **settings_kept,
            "namespaces": namespace_settings(installation),
            "kubeconfig": str(installation.api_kubeconfig),
        }
    election = {
        **settings_kept.get("leaderElection", {}),
        "namespace": installation.namespaces.system,
    }
    test_settings = {
        "namespaces": namespace_settings(installation),
        "kubeconfig": str(installation.kubeconfig),
    }
    return {**settings_kept, **test_settings, "leaderElection": election}


async def leader(system: System) -> ProductProcess:
    async def leading() -> list[ProductProcess]:
        metrics = [(await get(f"{controller.url}/metrics"))[1] for controller in system.controllers]
        pairs = zip(system.controllers, metrics, strict=True)
        return [controller for controller, text in pairs if LEADER_METRIC in text]

    return (await eventually(leading))[0]


def parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def test_the_standby_continues_the_work_of_a_killed_leader(system: System) -> None:
    created_by_hand = await system.environment.create_all_ready_stock(3 * BATCH, SPEC)
    killed = await leader(system)
    async with asyncio.TaskGroup() as group:
        group.create_task(system.create(0))
        await killed.process.kill()
        last_lease = await system.lease()
        group.create_task(system.create(BATCH))
        next_lease = await eventually(
            system.lease,
            lambda lease: lease["holderIdentity"] != last_lease["holderIdentity"],
            timeout_seconds=MAX_WATCH_GAP_SECONDS,
        )
        group.create_task(system.create(2 * BATCH))
    await eventually(
        lambda: ready_units(system.installation),
        lambda units: len(units) == 3 * BATCH,
        timeout_seconds=MAX_WATCH_GAP_SECONDS,
    )
    state = final_state(
        await system.environment.wait_final_snapshot(),
        system.results,
        created_by_hand=created_by_hand,
    )

    check_invariants(state)
    check_all_served(state)
    assert len(state.units) == 3 * BATCH
    assert set(system.load_balancer.statuses) == {201}, "a caller noticed the failover"
    assert {unit.status.phase for unit in state.units} == {"Ready"}
    assert next_lease["leaseTransitions"] == last_lease["leaseTransitions"] + 1
    lease, gap = (
        last_lease["leaseDurationSeconds"],
        parse_time(next_lease["acquireTime"]) - parse_time(last_lease["renewTime"]),
    )
    assert lease <= gap.total_seconds() < 2 * lease, "the next leader started too early or too late"


async def test_no_request_fails_during_a_rolling_restart_of_the_replicas(
    system: System,
) -> None:
    created_by_hand = await system.environment.create_all_ready_stock(4 * BATCH, SPEC)
    exit_codes: list[int | None] = []
    async with asyncio.TaskGroup() as group:
        readers = [
            group.create_task(read_until_cancelled(system.load_balancer)) for _ in range(READERS)
        ]
        for number, replica in enumerate(system.replicas):
            _, code = await asyncio.gather(
                system.create(2 * BATCH * number), stop_replica(system.load_balancer, replica)
            )
            exit_codes.append(code)
            replica.process.start()
            await system.create(2 * BATCH * number + BATCH)
            await wait_until(lambda url=replica.url: responds_ok(f"{url}/readyz"), replica.process)  # type: ignore[misc]
            system.load_balancer.add_replica(replica.url)
        for reader in readers:
            reader.cancel()
    state = final_state(
        await system.environment.wait_final_snapshot(),
        system.results,
        created_by_hand=created_by_hand,
    )

    check_invariants(state)
    check_all_served(state)
    assert exit_codes == [0, 0]
    assert len(state.units) == system.load_balancer.statuses[201] == 4 * BATCH
    assert set(system.load_balancer.statuses) == {200, 201}


async def stop_replica(load_balancer: LoadBalancedClient, replica: ProductProcess) -> int | None:
    """Stop a replica as Kubernetes does: out of the Service first, then SIGTERM when no new
    requests arrive.

    Clients with an open connection continue to use it.
    """
    await load_balancer.remove_replica(replica.url)
    return await replica.process.signal_and_wait(signal.SIGTERM)


async def read_until_cancelled(load_balancer: LoadBalancedClient) -> None:
    while True:
        await load_balancer.request("GET", f"{UNITS}?limit=10")
