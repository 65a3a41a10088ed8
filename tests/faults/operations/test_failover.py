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
LEADS = f'leader_election_master_status{{name="{LEASE}"}} 1.0'
SEE_TO_ADDRESSES = ("httpAddr", "probeAddr", "metricsAddr", "nats")


@dataclass(frozen=True)
class System:
    """Two controllers and two APIs on one site, and the callers' load balancer."""

    site: IsolatedInstallation
    world: RealEnvironment
    controllers: tuple[ProductProcess, ProductProcess]
    replicas: tuple[ProductProcess, ProductProcess]
    rotation: LoadBalancedClient
    told: list[CallerResult]

    async def create(self, first: int) -> None:
        """Create a batch of units at once, and note for each caller a result with a new unit."""
        names = [f"u{number}" for number in range(first, first + BATCH)]
        await asyncio.gather(*map(self._create, names))

    async def _create(self, name: str) -> None:
        order = {"operationID": name, "name": name, "specName": SPEC, "image": "example/image:1"}
        made = await self.rotation.request("POST", UNITS, order)
        self.told.append(CallerResult(name, is_new=True, unit_uid=made["data"]["uid"]))

    async def lease(self) -> dict[str, Any]:
        root = f"/apis/coordination.k8s.io/v1/namespaces/{self.site.namespaces.system}"
        spec: dict[str, Any] = (await self.site.admin.get(f"{root}/leases/{LEASE}"))["spec"]
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
            changes = shipped(objects, program, installation)
            return await processes.enter_async_context(
                run_product_process(program, tmp_path / name, changes)
            )

        leading, standby, one, two = await asyncio.gather(
            start(product_processes.CONTROLLER, "controller-one"),
            start(product_processes.CONTROLLER, "controller-two"),
            start(product_processes.RUNTIME_API, "one"),
            start(product_processes.RUNTIME_API, "two"),
        )
        world = RealEnvironment(installation, observer, observer)
        rotation = await processes.enter_async_context(LoadBalancedClient(one.url, two.url))
        yield System(installation, world, (leading, standby), (one, two), rotation, [])


def shipped(
    objects: list[dict[str, Any]],
    program: product_processes.ProductProgram,
    site: IsolatedInstallation,
) -> dict[str, Any]:
    """Return the manifests' settings, with the namespaces of the test."""
    settings = overlay_settings(objects, program.name)
    kept = {key: value for key, value in settings.items() if key not in SEE_TO_ADDRESSES}
    if program is product_processes.RUNTIME_API:
        return {
            **kept,
            "namespaces": namespace_settings(site),
            "kubeconfig": str(site.api_kubeconfig),
        }
    election = {**kept.get("leaderElection", {}), "namespace": site.namespaces.system}
    where = {"namespaces": namespace_settings(site), "kubeconfig": str(site.kubeconfig)}
    return {**kept, **where, "leaderElection": election}


async def leader(system: System) -> ProductProcess:
    async def leading() -> list[ProductProcess]:
        metrics = [(await get(f"{each.url}/metrics"))[1] for each in system.controllers]
        pairs = zip(system.controllers, metrics, strict=True)
        return [each for each, text in pairs if LEADS in text]

    return (await eventually(leading))[0]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def test_the_standby_goes_on_where_a_killed_leader_was(system: System) -> None:
    by_hand = await system.world.create_all_ready_stock(3 * BATCH, SPEC)
    killed = await leader(system)
    async with asyncio.TaskGroup() as group:
        group.create_task(system.create(0))
        await killed.process.kill()
        last = await system.lease()
        group.create_task(system.create(BATCH))
        after = await eventually(
            system.lease,
            lambda seen: seen["holderIdentity"] != last["holderIdentity"],
            timeout_seconds=MAX_WATCH_GAP_SECONDS,
        )
        group.create_task(system.create(2 * BATCH))
    await eventually(
        lambda: ready_units(system.site),
        lambda found: len(found) == 3 * BATCH,
        timeout_seconds=MAX_WATCH_GAP_SECONDS,
    )
    rest = final_state(
        await system.world.wait_final_snapshot(), system.told, created_by_hand=by_hand
    )

    check_invariants(rest)
    check_all_served(rest)
    assert len(rest.units) == 3 * BATCH
    assert set(system.rotation.statuses) == {201}, "nobody noticed"
    assert {unit.status.phase for unit in rest.units} == {"Ready"}
    assert after["leaseTransitions"] == last["leaseTransitions"] + 1
    lease, gap = (
        last["leaseDurationSeconds"],
        moment(after["acquireTime"]) - moment(last["renewTime"]),
    )
    assert lease <= gap.total_seconds() < 2 * lease, "after the lease had ended, and not much later"


async def test_replicas_are_restarted_one_after_the_other_and_no_request_fails(
    system: System,
) -> None:
    by_hand = await system.world.create_all_ready_stock(4 * BATCH, SPEC)
    codes: list[int | None] = []
    async with asyncio.TaskGroup() as group:
        readers = [group.create_task(read_for_ever(system.rotation)) for _ in range(READERS)]
        for number, replica in enumerate(system.replicas):
            _, code = await asyncio.gather(
                system.create(2 * BATCH * number), stopped(system.rotation, replica)
            )
            codes.append(code)
            replica.process.start()
            await system.create(2 * BATCH * number + BATCH)
            await wait_until(lambda url=replica.url: responds_ok(f"{url}/readyz"), replica.process)  # type: ignore[misc]
            system.rotation.add_replica(replica.url)
        for reader in readers:
            reader.cancel()
    rest = final_state(
        await system.world.wait_final_snapshot(), system.told, created_by_hand=by_hand
    )

    check_invariants(rest)
    check_all_served(rest)
    assert codes == [0, 0]
    assert len(rest.units) == system.rotation.statuses[201] == 4 * BATCH
    assert set(system.rotation.statuses) == {200, 201}


async def stopped(rotation: LoadBalancedClient, replica: ProductProcess) -> int | None:
    """Stop a replica as Kubernetes does: out of the Service first, then SIGTERM when no new
    requests arrive.

    Clients with an open connection continue to use it.
    """
    await rotation.remove_replica(replica.url)
    return await replica.process.signal_and_wait(signal.SIGTERM)


async def read_for_ever(rotation: LoadBalancedClient) -> None:
    while True:
        await rotation.request("GET", f"{UNITS}?limit=10")
