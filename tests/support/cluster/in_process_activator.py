"""The activator in the test's own process, with its account, on one site and one queue."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from prometheus_client import CollectorRegistry

from controller.runtime.client.connect import open_client
from controller.runtime.clock import Clock, SystemClock
from hack.cluster.nats_server import NATSServer
from serverless.activator.config import (
    ActivatorElectionConfig,
    Config,
    NamespacesConfig,
    NATSConfig,
)
from serverless.activator.wiring import PROGRAM_NAME, ManagerBuilder, load_auth_secrets
from shared.config.address import Address
from tests.support.cluster.in_process_controller import LONG_LEASE
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.wait.eventually import eventually


def activator_config(
    installation: IsolatedInstallation, nats_server: NATSServer, api_url: str, **changes: Any
) -> Config:
    """What an activator of the site is told."""
    anywhere = Address("127.0.0.1", 0)
    return msgspec.structs.replace(
        Config(
            probe_addr=anywhere,
            metrics_addr=anywhere,
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
    config: Config, clock: Clock | None = None
) -> AsyncIterator[CollectorRegistry]:
    """A leading activator for the length of the block; its metrics."""
    registry, clock, stop = CollectorRegistry(), clock or SystemClock(), asyncio.Event()
    async with (
        open_client(config.kubeconfig, PROGRAM_NAME, registry, clock) as client,
        aiohttp.ClientSession() as session,
        asyncio.TaskGroup() as group,
    ):
        manager = ManagerBuilder(client, session, registry, clock).build(
            config, load_auth_secrets(config)
        )
        group.create_task(manager.run(stop))
        try:
            await eventually(lambda: is_leading(registry))
            yield registry
        finally:
            stop.set()


def without_leader_election(config: Config) -> Config:
    """For an activator that has no rival."""
    election = msgspec.structs.replace(config.leader_election, enabled=False)
    return msgspec.structs.replace(config, leader_election=election)


async def is_leading(registry: CollectorRegistry) -> bool:
    """Whether the process works."""
    held = registry.get_sample_value("leader_election_master_status", {"name": PROGRAM_NAME})
    return held == 1.0
