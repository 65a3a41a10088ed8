"""The activator in the test's own process, with its account, for one installation and queue."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import aiohttp
import msgspec
from prometheus_client import CollectorRegistry

from controller.runtime import Client, Manager, SystemClock, TimerClock
from controller.runtime.client.connect import open_client
from hack.cluster.nats_server import NATSServer
from serverless.activator.config import (
    ActivatorElectionConfig,
    Config,
    NamespacesConfig,
    NATSConfig,
)
from serverless.activator.wiring import (
    PROGRAM_NAME,
    ActivatorWiring,
    load_auth_secrets,
    manager_options,
)
from shared.config.address import Address
from tests.support.cluster.in_process_controller import LONG_LEASE
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.wait.eventually import eventually


def activator_config(
    installation: IsolatedInstallation, nats_server: NATSServer, api_url: str, **changes: Any
) -> Config:
    """Return the configuration of an activator of the installation."""
    any_port = Address("127.0.0.1", 0)
    return msgspec.structs.replace(
        Config(
            probe_addr=any_port,
            metrics_addr=any_port,
            kubeconfig=str(installation.activator_kubeconfig),
            namespaces=NamespacesConfig(instance=installation.namespaces.instance),
            leader_election=ActivatorElectionConfig(
                namespace=installation.namespaces.system, **LONG_LEASE
            ),
            runtime_api_url=api_url,
            nats=NATSConfig(
                url=nats_server.url,
                user="activator",
                password_file=str(nats_server.password_file("activator")),
            ),
            callout_user="callout",
            callout_password_file=str(nats_server.password_file("callout")),
            callout_seed_file=str(nats_server.issuer_seed_file),
            worker_key_file=str(nats_server.worker_key_file),
        ),
        **changes,
    )


@asynccontextmanager
async def run_activator(
    config: Config, clock: TimerClock | None = None
) -> AsyncIterator[CollectorRegistry]:
    """Run an activator for the length of the block; yield its metrics once it leads."""
    registry, clock, stop = CollectorRegistry(), clock or SystemClock(), asyncio.Event()
    async with (
        open_client(config.kubeconfig, PROGRAM_NAME, registry, clock) as client,
        aiohttp.ClientSession() as session,
        asyncio.TaskGroup() as group,
    ):
        manager = new_manager(client, registry, clock, config)
        ActivatorWiring(manager, session, config, load_auth_secrets(config)).declare()
        group.create_task(manager.run(stop))
        try:
            await eventually(lambda: is_leading(registry))
            yield registry
        finally:
            stop.set()


def new_manager(
    client: Client, registry: CollectorRegistry, clock: TimerClock, config: Config
) -> Manager:
    """Create the manager of an activator process that uses `client`; nothing is declared."""
    return Manager(PROGRAM_NAME, client, manager_options(config), registry, clock, Random())


def without_leader_election(config: Config) -> Config:
    """Return the configuration of an activator that runs alone."""
    election = msgspec.structs.replace(config.leader_election, enabled=False)
    return msgspec.structs.replace(config, leader_election=election)


async def is_leading(registry: CollectorRegistry) -> bool:
    """Return whether the process holds the lease."""
    status = registry.get_sample_value("leader_election_master_status", {"name": PROGRAM_NAME})
    return status == 1.0
