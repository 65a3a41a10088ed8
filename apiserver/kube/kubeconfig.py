"""The server address and credentials from a kubeconfig or a pod's service account.

This is the only module that uses kubernetes-asyncio.
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

from shared.config.loader import ConfigurationError

_EXEC_PLUGIN_TIMEOUT_SECONDS: Final = 10.0  # an exec plugin has no limit of its own
# The exceptions that the loader raises on malformed files, besides its own.
_LOAD_ERRORS: Final = (
    *(ConfigException, yaml.YAMLError, OSError, TimeoutError),
    *(ValueError, TypeError, KeyError, AttributeError, AssertionError, RuntimeError),
)


@dataclass(frozen=True, slots=True)
class TLSConfig:
    """The certificates of a connection; equal when the contents of the files are equal."""

    ca_file: str | None
    cert_file: str | None
    key_file: str | None
    verify: bool
    digest: str

    @classmethod
    def load(
        cls, ca_file: str | None, cert_file: str | None, key_file: str | None, *, verify: bool
    ) -> "TLSConfig":
        """Read the digest of the files, which changes when a certificate is renewed in place."""
        digest = hashlib.sha256()
        for name in (ca_file, cert_file, key_file):
            digest.update(Path(name).read_bytes() if name else b"-")
        return cls(ca_file, cert_file, key_file, verify, digest.hexdigest())

    def create_ssl_context(self) -> ssl.SSLContext:
        """Create the SSL context; raises OSError or ssl.SSLError for an unusable certificate."""
        context = ssl.create_default_context(cafile=self.ca_file)
        if self.cert_file:
            context.load_cert_chain(self.cert_file, self.key_file)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


@dataclass(frozen=True, slots=True)
class RestConfig:
    """The server, credentials and TLS settings of one load of the configuration."""

    server: str
    authorization: str | None = field(default=None, repr=False)
    tls: TLSConfig | None = None
    ssl_context: ssl.SSLContext | None = field(default=None, repr=False, compare=False)
    tls_server_name: str | None = None
    proxy: str | None = None


ConfigLoader = Callable[[], Awaitable[RestConfig]]


def config_loader(kubeconfig_path: str, environment: Mapping[str, str], home: Path) -> ConfigLoader:
    """Return the loader of a named kubeconfig, else of the pod, else of the default kubeconfig.

    Raise ConfigurationError if none of them exists.
    """
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
        "Set kubeconfig to an existing file, or set kubeMode to off."
    )


async def load_kubeconfig(path: Path) -> RestConfig:
    """Read the current context of a kubeconfig; raises ConfigurationError."""
    settings = Configuration()
    try:
        _require_readable(path)
        async with asyncio.timeout(_EXEC_PLUGIN_TIMEOUT_SECONDS):
            await load_kube_config(
                config_file=str(path), client_configuration=settings, persist_config=False
            )
        return _rest_config(settings)
    except FileNotFoundError as error:
        raise ConfigurationError(f"kubeconfig: {error.filename}: file not found") from error
    except _LOAD_ERRORS as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ConfigurationError(f"kubeconfig: {path}: cannot be used: {reason}") from error


async def load_in_cluster() -> RestConfig:
    """Read the service account mounted into the pod; raises ConfigurationError."""
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
