"""The controller library on a real server: a client, an informer, a kind to play with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from controller.runtime import access
from controller.runtime.client import Client
from controller.runtime.clock import Clock, SystemClock
from controller.runtime.credentials import Credentials
from controller.runtime.informer import Informer
from controller.runtime.informer_metrics import InformerMetrics
from controller.runtime.kind import Kind
from controller.runtime.metrics import RestMetrics
from controller.runtime.objects import ObjectMeta
from controller.runtime.reflector import Scope
from controller.runtime.rest import RestClient, new_session


class ConfigMap(msgspec.Struct, frozen=True, kw_only=True):
    """A built-in kind with nothing but data: every server has it at once."""

    metadata: ObjectMeta
    data: dict[str, str] = {}


CONFIG_MAPS = Kind("", "v1", "configmaps", "ConfigMap", ConfigMap)


@asynccontextmanager
async def client_of(kubeconfig: Path, clock: Clock | None = None) -> AsyncIterator[Client]:
    """A client with the access of `kubeconfig`, for the length of the block."""
    used = clock or SystemClock()
    load = access.source(str(kubeconfig), {}, Path("/"))
    credentials = Credentials(load, await load(), used)
    async with new_session("library-tests") as session:
        rest = RestClient(session, credentials, RestMetrics(CollectorRegistry()), used)
        yield Client(rest, "library-tests")


def informer_of(client: Client, namespace: str, **scope: Any) -> Informer[ConfigMap]:
    """An informer of the config maps of one namespace."""
    return Informer(
        client,
        Scope(CONFIG_MAPS, namespace, **scope),
        InformerMetrics(CollectorRegistry()),
        SystemClock(),
        Random(7),  # noqa: S311
        {"team": lambda found: [found.metadata.labels.get("team", "")]},
    )


def a_config_map(namespace: str, name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name}, "data": data}
