"""Reading a kubeconfig or a pod's service account; the only user of kubernetes-asyncio."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException, load_incluster_config, load_kube_config

from apiserver.kube.access import TLS, Access
from shared.config.loader import ConfigurationError

Load = Callable[[], Awaitable[Access]]

_PLUGIN_PATIENCE: Final = 10.0  # seconds for an exec plugin, which has no limit of its own
# What the loader is seen to raise on malformed files, besides its own exception.
_MALFORMED: Final = (
    *(ConfigException, yaml.YAMLError, OSError, TimeoutError),
    *(ValueError, TypeError, KeyError, AttributeError, AssertionError, RuntimeError),
)


def source(named: str, environment: Mapping[str, str], home: Path) -> Load:
    """Choose where credentials come from; what is named wins, then the pod, then the default."""
    if named:
        return lambda: from_kubeconfig(Path(named).expanduser())
    if environment.get("KUBERNETES_SERVICE_HOST"):
        return from_pod
    names = environment.get("KUBECONFIG") or str(home / ".kube" / "config")
    for name in filter(None, names.split(os.pathsep)):
        if Path(name).is_file():
            return lambda: from_kubeconfig(Path(name))
    raise ConfigurationError(
        f"no cluster is configured: this is not a pod and {names} does not exist. "
        "Name a file in kubeconfig, or set kubeMode to off."
    )


async def from_kubeconfig(path: Path) -> Access:
    """Read the current context of a kubeconfig: token, tokenFile, exec or certificate."""
    settings = Configuration()
    try:
        _require_readable(path)
        async with asyncio.timeout(_PLUGIN_PATIENCE):
            await load_kube_config(
                config_file=str(path), client_configuration=settings, persist_config=False
            )
        return _access(settings)
    except FileNotFoundError as error:
        raise ConfigurationError(f"kubeconfig: {error.filename}: there is no such file") from error
    except _MALFORMED as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ConfigurationError(f"kubeconfig: {path}: cannot be used: {reason}") from error


async def from_pod() -> Access:
    """Read the service account that Kubernetes mounts into every pod."""
    settings = Configuration()
    try:
        load_incluster_config(  # type: ignore[no-untyped-call] # the library's
            client_configuration=settings, try_refresh_token=False
        )
        return _access(settings)
    except _MALFORMED as error:
        raise ConfigurationError(f"the pod's service account cannot be used: {error}") from error


def _require_readable(path: Path) -> None:
    path.read_bytes()  # the loader only warns of a file that it cannot find


def _access(settings: Any) -> Access:
    secure = settings.host.startswith("https://")
    tls = (
        TLS.of(
            settings.ssl_ca_cert, settings.cert_file, settings.key_file, verify=settings.verify_ssl
        )
        if secure
        else None
    )
    token = settings.api_key.get("BearerToken", "").strip()  # token files end in a newline
    return Access(
        server=settings.host,
        authorization=token or None,
        tls=tls,
        context=tls.context() if tls else None,
        server_name=settings.tls_server_name,
        proxy=settings.proxy,
    )
