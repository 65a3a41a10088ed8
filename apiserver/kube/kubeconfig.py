"""Reading a kubeconfig or a pod's service account; the only user of kubernetes-asyncio."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException, load_incluster_config, load_kube_config

from apiserver.kube.access import RestConfig, TLSConfig
from shared.config.loader import ConfigurationError

ConfigLoader = Callable[[], Awaitable[RestConfig]]

_EXEC_PLUGIN_TIMEOUT_SECONDS: Final = (
    10.0  # seconds for an exec plugin, which has no limit of its own
)
# What the loader is seen to raise on malformed files, besides its own exception.
_LOAD_ERRORS: Final = (
    *(ConfigException, yaml.YAMLError, OSError, TimeoutError),
    *(ValueError, TypeError, KeyError, AttributeError, AssertionError, RuntimeError),
)


def config_loader(kubeconfig_path: str, environment: Mapping[str, str], home: Path) -> ConfigLoader:
    """Choose where credentials come from; what is named wins, then the pod, then the default."""
    if kubeconfig_path:
        return lambda: load_kubeconfig(Path(kubeconfig_path).expanduser())
    if environment.get("KUBERNETES_SERVICE_HOST"):
        return load_in_cluster
    names = environment.get("KUBECONFIG") or str(home / ".kube" / "config")
    for name in filter(None, names.split(os.pathsep)):
        if Path(name).is_file():
            return lambda: load_kubeconfig(Path(name))
    raise ConfigurationError(
        f"no cluster is configured: this is not a pod and {names} does not exist. "
        "Name a file in kubeconfig, or set kubeMode to off."
    )


async def load_kubeconfig(path: Path) -> RestConfig:
    """Read the current context of a kubeconfig: token, tokenFile, exec or certificate."""
    settings = Configuration()
    try:
        _require_readable(path)
        async with asyncio.timeout(_EXEC_PLUGIN_TIMEOUT_SECONDS):
            await load_kube_config(
                config_file=str(path), client_configuration=settings, persist_config=False
            )
        return _rest_config(settings)
    except FileNotFoundError as error:
        raise ConfigurationError(f"kubeconfig: {error.filename}: there is no such file") from error
    except _LOAD_ERRORS as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ConfigurationError(f"kubeconfig: {path}: cannot be used: {reason}") from error


async def load_in_cluster() -> RestConfig:
    """Read the service account that Kubernetes mounts into every pod."""
    settings = Configuration()
    try:
        load_incluster_config(  # type: ignore[no-untyped-call] # the library's
            client_configuration=settings, try_refresh_token=False
        )
        return _rest_config(settings)
    except _LOAD_ERRORS as error:
        raise ConfigurationError(f"the pod's service account cannot be used: {error}") from error


def _require_readable(path: Path) -> None:
    path.read_bytes()  # the loader only warns of a file that it cannot find


def _rest_config(configuration: Any) -> RestConfig:
    secure = configuration.host.startswith("https://")
    tls = (
        TLSConfig.load(
            configuration.ssl_ca_cert,
            configuration.cert_file,
            configuration.key_file,
            verify=configuration.verify_ssl,
        )
        if secure
        else None
    )
    token = configuration.api_key.get("BearerToken", "").strip()  # token files end in a newline
    return RestConfig(
        server=configuration.host,
        authorization=token or None,
        tls=tls,
        ssl_context=tls.create_ssl_context() if tls else None,
        tls_server_name=configuration.tls_server_name,
        proxy=configuration.proxy,
    )
