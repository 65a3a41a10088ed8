"""Kubeconfig files: one cluster, one user, one context."""

import base64
from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True)
class ApiServerEndpoint:
    """How to reach one API server: its address and the CA that its certificate is checked by."""

    server: str
    ca: bytes


def kubeconfig_for_certificate(endpoint: ApiServerEndpoint, certificate: Path, key: Path) -> str:
    """A kubeconfig whose user is a client certificate, everything in the one file."""
    user = {
        "client-certificate-data": base64_encode(certificate.read_bytes()),
        "client-key-data": base64_encode(key.read_bytes()),
    }
    return render_kubeconfig(endpoint, user)


def kubeconfig_for_token_file(endpoint: ApiServerEndpoint, token_path: Path) -> str:
    """A kubeconfig whose user is the token in a file, which may be renewed under the reader."""
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
