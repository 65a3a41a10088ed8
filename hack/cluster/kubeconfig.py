"""Kubeconfig files: one cluster, one user, one context."""

import base64
from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True)
class ApiServerEndpoint:
    """The address of an API server, and the CA of its certificate."""

    server: str
    ca: bytes


def kubeconfig_for_certificate(endpoint: ApiServerEndpoint, certificate: Path, key: Path) -> str:
    """Return a kubeconfig that contains a client certificate."""
    user = {
        "client-certificate-data": base64_encode(certificate.read_bytes()),
        "client-key-data": base64_encode(key.read_bytes()),
    }
    return render_kubeconfig(endpoint, user)


def kubeconfig_for_token_file(endpoint: ApiServerEndpoint, token_path: Path) -> str:
    """Return a kubeconfig that refers to a token file; the file may be renewed."""
    return render_kubeconfig(endpoint, {"tokenFile": str(token_path)})


def render_kubeconfig(endpoint: ApiServerEndpoint, user: dict[str, str]) -> str:
    cluster = {"server": endpoint.server, "certificate-authority-data": base64_encode(endpoint.ca)}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "local", "cluster": cluster}],
            "users": [{"name": "local", "user": user}],
            "contexts": [{"name": "local", "context": {"cluster": "local", "user": "local"}}],
            "current-context": "local",
        },
        sort_keys=False,
    )


def base64_encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


def base64_decode(text: str) -> bytes:
    return base64.b64decode(text)
