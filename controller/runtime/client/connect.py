"""Opens a client from a kubeconfig."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry

from controller.runtime.client import kubeconfig as controller_kubeconfig
from controller.runtime.client.client import Client
from controller.runtime.client.credentials import Credentials
from controller.runtime.client.metrics import RestMetrics
from controller.runtime.client.rest import RestClient, new_session
from controller.runtime.clock import Clock


@asynccontextmanager
async def open_client(
    kubeconfig: str, user_agent: str, registry: CollectorRegistry, clock: Clock
) -> AsyncIterator[Client]:
    """Open a client for the block; the user agent up to a slash is the field manager.

    Without a kubeconfig the pod's service account is used, or else the user's default. Raises
    KubeconfigError if that is invalid. Sends no request to the server.
    """
    load = controller_kubeconfig.config_loader(kubeconfig, os.environ, Path.home())
    credentials = Credentials(load, await load(), clock)
    async with new_session(user_agent) as session:
        rest = RestClient(session, credentials, RestMetrics(registry), clock)
        yield Client(rest, user_agent.partition("/")[0])
