"""The activator in the test's own process, with its account, on one site and one queue."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
import msgspec
from prometheus_client import CollectorRegistry

from controller.runtime.client.client import Client
from controller.runtime.client.connect import connected
from controller.runtime.client.rest import RestClient
from controller.runtime.clock import Clock, SystemClock
from hack.cluster.nats_server import QueueServer
from serverless.activator.config import (
    ActivatorElectionConfig,
    Config,
    NamespacesConfig,
    NATSConfig,
)
from serverless.activator.wiring import NAME, Assembly, keys
from shared.config.address import Address
from tests.support.cluster.isolated_installation import Site
from tests.support.cluster.leases import UNHURRIED
from tests.support.faults.crashing_nats import MortalAssembly
from tests.support.faults.crashing_rest_client import Mortal
from tests.support.wait.eventually import eventually


def configuration(site: Site, queue: QueueServer, api_url: str, **changes: Any) -> Config:
    """What an activator of the site is told."""
    anywhere = Address("127.0.0.1", 0)
    return msgspec.structs.replace(
        Config(
            probe_addr=anywhere,
            metrics_addr=anywhere,
            kubeconfig=str(site.activator_kubeconfig),
            namespaces=NamespacesConfig(instance=site.namespaces.instance),
            leader_election=ActivatorElectionConfig(namespace=site.namespaces.system, **UNHURRIED),
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
async def activated(config: Config, clock: Clock | None = None) -> AsyncIterator[CollectorRegistry]:
    """A leading activator for the length of the block; its metrics."""
    registry, clock, stop = CollectorRegistry(), clock or SystemClock(), asyncio.Event()
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


class MortalSession:
    """Calls of the runtime API that count among the writes of a process, and die with it."""

    def __init__(self, session: aiohttp.ClientSession, mortal: Mortal) -> None:
        self._session = session
        self._mortal = mortal

    @asynccontextmanager
    async def request(
        self, method: str, url: str, **options: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """One call, which has been answered whole."""

        async def send() -> aiohttp.ClientResponse:
            async with self._session.request(method, url, **options) as response:
                await response.read()
                return response

        yield await self._mortal.write(f"{method} {url}", send)


@asynccontextmanager
async def doomed_activator(
    config: Config,
    *,
    dies_at: int,
    after_sending: bool = True,
    is_queue_mortal: bool = False,
    clock: Clock | None = None,
) -> AsyncIterator[Mortal]:
    """An activator without rivals that dies at that write to Kubernetes or to the API.

    Where its queue is mortal, what it writes there counts, too.
    """
    registry, clock = CollectorRegistry(), clock or SystemClock()
    async with (
        connected(config.kubeconfig, NAME, registry, clock) as client,
        aiohttp.ClientSession() as session,
        asyncio.TaskGroup() as group,
    ):
        mortal = Mortal(client.rest, dies_at=dies_at, after_sending=after_sending)
        dying = Client(cast(RestClient, mortal), NAME)
        calls = cast(aiohttp.ClientSession, MortalSession(session, mortal))
        parts = (dying, calls, registry, clock)
        made = MortalAssembly(mortal, *parts) if is_queue_mortal else Assembly(*parts)
        manager = made.manager(alone(config), keys(config))
        process = group.create_task(manager.run(asyncio.Event()))
        try:
            yield mortal
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
