"""Loads server address and credentials from a kubeconfig or a pod's service account.

kubernetes-asyncio reads the files and runs credential plugins; nothing else of it is used.
"""

import asyncio
import hashlib
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException, load_incluster_config, load_kube_config

from controller.runtime.errors import KubeconfigError

EXEC_PLUGIN_TIMEOUT_SECONDS: Final = 10.0
# What the loader raises for malformed files.
LOAD_ERRORS: Final = (
    ConfigException,
    yaml.YAMLError,
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True)
class RestConfig:
    """A server address and credentials; `certificates_digest` identifies the certificate files."""

    server: str
    authorization: str | None = field(repr=False)
    certificates_digest: str
    ssl_context: ssl.SSLContext | None = field(repr=False)
    tls_server_name: str | None


ConfigLoader = Callable[[], Awaitable[RestConfig]]


def config_loader(kubeconfig: str, environment: Mapping[str, str], home: Path) -> ConfigLoader:
    """Return the loader for the named file, the pod's service account, or the user's default."""
    if kubeconfig:
        return lambda: load_kubeconfig(Path(kubeconfig).expanduser())
    if environment.get("KUBERNETES_SERVICE_HOST"):
        return load_in_cluster
    names = environment.get("KUBECONFIG") or str(home / ".kube" / "config")
    for name in filter(None, names.split(os.pathsep)):
        if Path(name).is_file():
            return lambda: load_kubeconfig(Path(name))
    raise KubeconfigError(
        f"no cluster is configured: this is not a pod, and {names} does not exist"
    )


async def load_kubeconfig(path: Path) -> RestConfig:
    """Load the current context of a kubeconfig: token, token file, plugin or certificate."""
    settings = Configuration()
    try:
        require_readable(path)
        async with asyncio.timeout(EXEC_PLUGIN_TIMEOUT_SECONDS):
            await load_kube_config(
                config_file=str(path), client_configuration=settings, persist_config=False
            )
        return rest_config(settings)
    except FileNotFoundError as error:
        raise KubeconfigError(f"kubeconfig: {error.filename}: file not found") from error
    except LOAD_ERRORS as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise KubeconfigError(f"kubeconfig: {path}: cannot be used: {reason}") from error


def require_readable(path: Path) -> None:
    path.read_bytes()  # the loader only logs a warning for a missing file


async def load_in_cluster() -> RestConfig:
    """Load the service account that Kubernetes mounts into every pod."""
    settings = Configuration()
    try:
        load_incluster_config(  # type: ignore[no-untyped-call] # the library's
            client_configuration=settings, try_refresh_token=False
        )
        return rest_config(settings)
    except LOAD_ERRORS as error:
        raise KubeconfigError(f"the pod's service account cannot be used: {error}") from error


def rest_config(configuration: Any) -> RestConfig:
    secure = configuration.host.startswith("https://")
    token = configuration.api_key.get("BearerToken", "").strip()  # token files end in a newline
    return RestConfig(
        server=configuration.host,
        authorization=token or None,
        certificates_digest=files_digest(
            configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file
        ),
        ssl_context=create_ssl_context(configuration) if secure else None,
        tls_server_name=configuration.tls_server_name,
    )


def files_digest(*paths: str | None) -> str:
    """Return a digest of the contents, which changes if a file is replaced in place."""
    content = hashlib.sha256()
    for name in paths:
        content.update(Path(name).read_bytes() if name else b"-")
    return content.hexdigest()


def create_ssl_context(configuration: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
