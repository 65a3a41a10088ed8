"""The activator in the test's own process, with its account, on one site and one queue."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from prometheus_client import CollectorRegistry

from controller.runtime.client import Client
from controller.runtime.clock import SystemClock
from controller.runtime.connect import connected
from hack.cluster.queue import QueueServer
from serverless.activator.config import (
    ActivatorElectionConfig,
    Config,
    NamespacesConfig,
    NATSConfig,
)
from serverless.activator.parts import NAME, Assembly, keys
from shared.address import Address
from tests.support.eventually import eventually
from tests.support.site import Site


def configuration(site: Site, queue: QueueServer, api_url: str, **changes: Any) -> Config:
    """What an activator of the site is told."""
    anywhere = Address("127.0.0.1", 0)
    return msgspec.structs.replace(
        Config(
            probe_addr=anywhere,
            metrics_addr=anywhere,
            kubeconfig=str(site.activator_kubeconfig),
            namespaces=NamespacesConfig(instance=site.namespaces.instance),
            leader_election=ActivatorElectionConfig(namespace=site.namespaces.system),
            runtime_api_url=api_url,
            nats=NATSConfig(
                url=queue.url,
                user="activator",
                password_file=str(queue.password_file("activator")),
            ),
            callout_user="callout",
            callout_password_file=str(queue.password_file("callout")),
            callout_seed_file=str(queue.issuer_seed_file),
            worker_key_file=str(queue.worker_key_file),
        ),
        **changes,
    )


@asynccontextmanager
async def activated(config: Config) -> AsyncIterator[CollectorRegistry]:
    """A leading activator for the length of the block; its metrics."""
    registry, clock, stop = CollectorRegistry(), SystemClock(), asyncio.Event()
    async with (
        connected(config.kubeconfig, NAME, registry, clock) as client,
        aiohttp.ClientSession() as session,
        asyncio.TaskGroup() as group,
    ):
        manager = Assembly(client, session, registry, clock).manager(config, keys(config))
        group.create_task(manager.run(stop))
        try:
            await eventually(lambda: leads(registry))
            yield registry
        finally:
            stop.set()


@asynccontextmanager
async def doomed_activator(
    config: Config, client: Client, session: aiohttp.ClientSession
) -> AsyncIterator[None]:
    """An activator without rivals that talks by `client` and `session`, and ends at once."""
    registry, clock = CollectorRegistry(), SystemClock()
    async with asyncio.TaskGroup() as group:
        manager = Assembly(client, session, registry, clock).manager(config, keys(config))
        process = group.create_task(manager.run(asyncio.Event()))
        try:
            yield
        finally:
            process.cancel()


def alone(config: Config) -> Config:
    """For an activator that has no rival."""
    election = msgspec.structs.replace(config.leader_election, enabled=False)
    return msgspec.structs.replace(config, leader_election=election)


async def leads(registry: CollectorRegistry) -> bool:
    """Whether the process works."""
    held = registry.get_sample_value("leader_election_master_status", {"name": NAME})
    return held == 1.0
