"""How to reach an API server and as whom, read from a kubeconfig or a pod's service account.

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

from controller.runtime.errors import AccessError

PLUGIN_SECONDS: Final = 10.0
# What the loader raises on malformed files, besides its own exception.
MALFORMED: Final = (
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
class Access:
    """One server and one identity at one moment; `certificates` is a digest of the files."""

    server: str
    authorization: str | None = field(repr=False)
    certificates: str
    tls: ssl.SSLContext | None = field(repr=False)
    server_name: str | None


Load = Callable[[], Awaitable[Access]]


def source(named: str, environment: Mapping[str, str], home: Path) -> Load:
    """Where access comes from: the file that is named, the pod we run in, the user's default."""
    if named:
        return lambda: from_kubeconfig(Path(named).expanduser())
    if environment.get("KUBERNETES_SERVICE_HOST"):
        return from_pod
    names = environment.get("KUBECONFIG") or str(home / ".kube" / "config")
    for name in filter(None, names.split(os.pathsep)):
        if Path(name).is_file():
            return lambda: from_kubeconfig(Path(name))
    raise AccessError(f"no cluster is configured: this is not a pod, and {names} does not exist")


async def from_kubeconfig(path: Path) -> Access:
    """The current context of a kubeconfig: token, token file, plugin or client certificate."""
    settings = Configuration()
    try:
        require_readable(path)
        async with asyncio.timeout(PLUGIN_SECONDS):
            await load_kube_config(
                config_file=str(path), client_configuration=settings, persist_config=False
            )
        return access(settings)
    except FileNotFoundError as error:
        raise AccessError(f"kubeconfig: {error.filename}: there is no such file") from error
    except MALFORMED as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise AccessError(f"kubeconfig: {path}: cannot be used: {reason}") from error


def require_readable(path: Path) -> None:
    path.read_bytes()  # the loader only warns of a file that is not there


async def from_pod() -> Access:
    """The service account that Kubernetes mounts into every pod."""
    settings = Configuration()
    try:
        load_incluster_config(  # type: ignore[no-untyped-call] # the library's
            client_configuration=settings, try_refresh_token=False
        )
        return access(settings)
    except MALFORMED as error:
        raise AccessError(f"the pod's service account cannot be used: {error}") from error


def access(settings: Any) -> Access:
    secure = settings.host.startswith("https://")
    token = settings.api_key.get("BearerToken", "").strip()  # token files end in a newline
    return Access(
        server=settings.host,
        authorization=token or None,
        certificates=digest(settings.ssl_ca_cert, settings.cert_file, settings.key_file),
        tls=tls_context(settings) if secure else None,
        server_name=settings.tls_server_name,
    )


def digest(*names: str | None) -> str:
    """Equal while the files hold the same, also when they are renewed in place."""
    content = hashlib.sha256()
    for name in names:
        content.update(Path(name).read_bytes() if name else b"-")
    return content.hexdigest()


def tls_context(settings: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=settings.ssl_ca_cert)
    if settings.cert_file:
        context.load_cert_chain(settings.cert_file, settings.key_file)
    if not settings.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
