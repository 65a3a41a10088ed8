"""From a kubeconfig to a client."""

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
    """A client for the length of the block; `name` is its user agent and field manager.

    Without a kubeconfig it uses the pod's service account, or else the user's default. Raises
    KubeconfigError where that cannot be used; does not ask whether the server answers.
    """
    load = controller_kubeconfig.config_loader(kubeconfig, os.environ, Path.home())
    credentials = Credentials(load, await load(), clock)
    async with new_session(user_agent) as session:
        rest = RestClient(session, credentials, RestMetrics(registry), clock)
        yield Client(rest, user_agent.partition("/")[0])
