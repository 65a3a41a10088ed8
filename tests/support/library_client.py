"""A client of the controller library for the control plane of the run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from prometheus_client import CollectorRegistry

from controller.runtime.access import from_kubeconfig
from controller.runtime.client import Client
from controller.runtime.clock import SystemClock
from controller.runtime.credentials import Credentials
from controller.runtime.metrics import RestMetrics
from controller.runtime.rest import RestClient, new_session
from hack.cluster.controlplane import ControlPlane

FIELD_MANAGER = "library-tests"


@asynccontextmanager
async def library_client(plane: ControlPlane) -> AsyncIterator[Client]:
    """May do everything, for the length of the block."""
    load = partial(from_kubeconfig, plane.layout.kubeconfig("admin"))
    clock = SystemClock()
    credentials = Credentials(load, await load(), clock)
    async with new_session(FIELD_MANAGER) as session:
        metrics = RestMetrics(CollectorRegistry())
        yield Client(RestClient(session, credentials, metrics, clock), FIELD_MANAGER)
