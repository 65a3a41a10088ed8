"""The controller in the test's own process, with its account, for one installation."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry

from controller.config import Config, NamespacesConfig
from controller.runtime import Client, Manager, SystemClock, TimerClock
from controller.runtime.client.connect import open_client
from controller.wiring import PROGRAM_NAME, declare_controllers, manager_options
from shared.config.address import Address
from shared.config.duration import Duration
from shared.config.leader_election import LeaderElectionConfig
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.wait.eventually import eventually

# A leader that loses its lease exits, and a busy machine loses a lease of fifteen seconds. A clean
# stop releases the lease, so no test waits for its expiry.
LONG_LEASE: Final[dict[str, Any]] = {
    "lease_duration": Duration(180),
    "renew_deadline": Duration(120),
}


@asynccontextmanager
async def run_controller(
    installation: IsolatedInstallation, **changes: Any
) -> AsyncIterator[CollectorRegistry]:
    """Run a controller for the length of the block; yield its metrics once it leads."""
    registry, clock, stop = CollectorRegistry(), SystemClock(), asyncio.Event()
    config = controller_config(installation, **changes)
    async with (
        open_client(str(installation.kubeconfig), PROGRAM_NAME, registry, clock) as client,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(new_controller(client, registry, clock, config).run(stop))
        try:
            await eventually(lambda: is_leading(registry))
            yield registry
        finally:
            stop.set()


def new_controller(
    client: Client, registry: CollectorRegistry, clock: TimerClock, config: Config
) -> Manager:
    """Create the manager of a controller process that uses `client`."""
    manager = Manager(PROGRAM_NAME, client, manager_options(config), registry, clock, Random())
    declare_controllers(manager, config)
    return manager


def controller_config(installation: IsolatedInstallation, **changes: Any) -> Config:
    names = installation.namespaces
    any_port = Address("127.0.0.1", 0)
    return Config(
        probe_addr=any_port,
        metrics_addr=any_port,
        namespaces=NamespacesConfig(
            stock=names.stock, instance=names.instance, system=names.system
        ),
        leader_election=LeaderElectionConfig(namespace=names.system, **LONG_LEASE),
        **changes,
    )


def config_without_leader_election(installation: IsolatedInstallation, **changes: Any) -> Config:
    """Return the configuration of a controller that runs alone."""
    election = LeaderElectionConfig(enabled=False, namespace=installation.namespaces.system)
    return msgspec.structs.replace(
        controller_config(installation, **changes), leader_election=election
    )


async def is_leading(registry: CollectorRegistry) -> bool:
    status = registry.get_sample_value("leader_election_master_status", {"name": PROGRAM_NAME})
    return status == 1.0
