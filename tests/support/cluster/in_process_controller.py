"""The controller in the test's own process, with its account, on one site."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from controller.config import Config, NamespacesConfig
from controller.runtime.client.connect import connected
from controller.runtime.clock import SystemClock
from controller.wiring import Assembly
from shared.config.address import Address
from shared.config.leader_election import LeaderElectionConfig
from tests.support.cluster.isolated_installation import Site
from tests.support.cluster.leases import UNHURRIED
from tests.support.wait.eventually import eventually

FIELD_MANAGER = "gpu-runtime-controller"


@asynccontextmanager
async def controlled(site: Site, **changes: Any) -> AsyncIterator[CollectorRegistry]:
    """A leading controller for the length of the block; its metrics."""
    registry, clock, stop = CollectorRegistry(), SystemClock(), asyncio.Event()
    config = configuration(site, **changes)
    async with (
        connected(str(site.kubeconfig), FIELD_MANAGER, registry, clock) as client,
        asyncio.TaskGroup() as group,
    ):
        manager = Assembly(client, registry, clock).manager(config)
        group.create_task(manager.run(stop))
        try:
            await eventually(lambda: leads(registry))
            yield registry
        finally:
            stop.set()


def configuration(site: Site, **changes: Any) -> Config:
    names = site.namespaces
    anywhere = Address("127.0.0.1", 0)
    return Config(
        probe_addr=anywhere,
        metrics_addr=anywhere,
        namespaces=NamespacesConfig(
            stock=names.stock, instance=names.instance, system=names.system
        ),
        leader_election=LeaderElectionConfig(namespace=names.system, **UNHURRIED),
        **changes,
    )


def alone(site: Site, **changes: Any) -> Config:
    """For a controller that has no rival."""
    election = LeaderElectionConfig(enabled=False, namespace=site.namespaces.system)
    return msgspec.structs.replace(configuration(site, **changes), leader_election=election)


async def leads(registry: CollectorRegistry) -> bool:
    held = registry.get_sample_value(
        "leader_election_master_status", {"name": "gpu-runtime-controller"}
    )
    return held == 1.0
