"""The controller library on a real server: a client, an informer, and a kind that always exists."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import WatchScope
from controller.runtime.client.client import Client
from controller.runtime.client.connect import open_client
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import ObjectMeta
from controller.runtime.clock import SystemClock


class ConfigMap(msgspec.Struct, frozen=True, kw_only=True):
    """A built-in kind with data only; every server serves it from the start."""

    metadata: ObjectMeta
    data: dict[str, str] = {}


CONFIG_MAPS = Kind("", "v1", "configmaps", "ConfigMap", ConfigMap)


def connect_client(kubeconfig: Path) -> AbstractAsyncContextManager[Client]:
    """Open a client with the access of `kubeconfig`, for the length of the block."""
    return open_client(str(kubeconfig), "library-tests", CollectorRegistry(), SystemClock())


def new_informer(client: Client, namespace: str, **scope: Any) -> Informer[ConfigMap]:
    """Return an informer of the config maps of one namespace."""
    return Informer(
        client,
        WatchScope(CONFIG_MAPS, namespace, **scope),
        InformerMetrics(CollectorRegistry()),
        SystemClock(),
        Random(7),
        {"team": lambda config_map: [config_map.metadata.labels.get("team", "")]},
    )


def config_map_manifest(namespace: str, name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name}, "data": data}
