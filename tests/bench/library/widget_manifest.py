"""One widget: what differs from one to the next differs here too, the rest repeats as it does."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.bench.library.widget_crd import GROUP, VERSION, name_of, namespace_of

BORN = datetime(2026, 1, 1, tzinfo=UTC)


def a_widget(number: int) -> dict[str, Any]:
    """The widget `number`, always the same."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Widget",
        "metadata": metadata(number),
        "spec": spec(number),
        "status": status(number),
    }


def metadata(number: int) -> dict[str, Any]:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": f"team-{number % 400:03d}",
        "uid": identifier("team", number % 400),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "name": name_of(number),
        "namespace": namespace_of(number),
        "labels": labels(number) | {"app.kubernetes.io/managed-by": "bench"},
        "annotations": {
            "bench.local/operation-id": identifier("operation", number),
            "bench.local/request-hash": identifier("hash", number).replace("-", ""),
        },
        "finalizers": ["bench.local/cleanup"],
        "ownerReferences": [owner],
    }


def spec(number: int) -> dict[str, Any]:
    size = number % 8 + 1
    amounts = {"cpu": f"{size * 4}", "memory": f"{size * 16}Gi", "nvidia.com/gpu": f"{size}"}
    container = {
        "name": "worker",
        "image": f"registry.local/team-{number % 400:03d}/worker:1.{number % 7}.0",
        "args": ["--serve", "--port=8080", f"--shard={number}"],
        "env": [
            {"name": "MODEL", "value": f"model-{number % 50:02d}"},
            {"name": "SHARD", "value": f"{number}"},
            {"name": "LOG_LEVEL", "value": "info"},
        ],
        "ports": [
            {"name": "http", "containerPort": 8080, "protocol": "TCP"},
            {"name": "ssh", "containerPort": 22, "protocol": "TCP"},
        ],
        "resources": {"requests": amounts, "limits": amounts},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    return {
        "stamp": "0",
        "replicas": 1,
        "paused": False,
        "selector": labels(number),
        "nodeSelector": {"bench.local/pool": f"pool-{number % 5}"},
        "strategy": {"type": "RollingUpdate", "maxSurge": 1, "maxUnavailable": 0},
        "containers": [container],
    }


def status(number: int) -> dict[str, Any]:
    since = f"{BORN + timedelta(seconds=number * 37):%Y-%m-%dT%H:%M:%SZ}"
    return {
        "phase": "Ready",
        "replicas": 1,
        "readyReplicas": 1,
        "observedGeneration": 1,
        "conditions": [
            condition("Ready", "PodsReady", "1 of 1 pods are ready", since),
            condition("Progressing", "Settled", "nothing is left to do", since),
        ],
    }


def condition(kind: str, reason: str, message: str, since: str) -> dict[str, Any]:
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
        "observedGeneration": 1,
    }


def labels(number: int) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": name_of(number),
        "bench.local/team": f"team-{number % 400:03d}",
    }


def identifier(kind: str, number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}/{number}"))
