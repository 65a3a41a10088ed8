"""Kubeconfig files: one cluster, one user, one context."""

import base64
from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True)
class Access:
    """How to reach one API server: its address and the CA that its certificate is checked by."""

    server: str
    ca: bytes


def for_certificate(access: Access, certificate: Path, key: Path) -> str:
    """A kubeconfig whose user is a client certificate, everything in the one file."""
    user = {
        "client-certificate-data": encoded(certificate.read_bytes()),
        "client-key-data": encoded(key.read_bytes()),
    }
    return kubeconfig(access, user)


def for_token_file(access: Access, token: Path) -> str:
    """A kubeconfig whose user is the token in a file, which may be renewed under the reader."""
    return kubeconfig(access, {"tokenFile": str(token)})


def kubeconfig(access: Access, user: dict[str, str]) -> str:
    cluster = {"server": access.server, "certificate-authority-data": encoded(access.ca)}
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


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def decoded(text: str) -> bytes:
    return base64.b64decode(text)
