"""One widget, with values that differ between real objects, and values that repeat."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.bench.library.widget_crd import GROUP, VERSION, widget_name, widget_namespace

CREATED_AT = datetime(2026, 1, 1, tzinfo=UTC)


def widget_manifest(number: int) -> dict[str, Any]:
    """Return the widget `number`, which is always the same."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Widget",
        "metadata": widget_metadata(number),
        "spec": widget_spec(number),
        "status": widget_status(number),
    }


def widget_metadata(number: int) -> dict[str, Any]:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": f"team-{number % 400:03d}",
        "uid": stable_uuid("team", number % 400),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "name": widget_name(number),
        "namespace": widget_namespace(number),
        "labels": widget_labels(number) | {"app.kubernetes.io/managed-by": "bench"},
        "annotations": {
            "bench.local/operation-id": stable_uuid("operation", number),
            "bench.local/request-hash": stable_uuid("hash", number).replace("-", ""),
        },
        "finalizers": ["bench.local/cleanup"],
        "ownerReferences": [owner],
    }


def widget_spec(number: int) -> dict[str, Any]:
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
        "selector": widget_labels(number),
        "nodeSelector": {"bench.local/pool": f"pool-{number % 5}"},
        "strategy": {"type": "RollingUpdate", "maxSurge": 1, "maxUnavailable": 0},
        "containers": [container],
    }


def widget_status(number: int) -> dict[str, Any]:
    since = f"{CREATED_AT + timedelta(seconds=number * 37):%Y-%m-%dT%H:%M:%SZ}"
    return {
        "phase": "Ready",
        "replicas": 1,
        "readyReplicas": 1,
        "observedGeneration": 1,
        "conditions": [
            widget_condition("Ready", "PodsReady", "1 of 1 pods are ready", since),
            widget_condition("Progressing", "Settled", "nothing is left to do", since),
        ],
    }


def widget_condition(
    condition_type: str, reason: str, message: str, timestamp: str
) -> dict[str, Any]:
    return {
        "type": condition_type,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": timestamp,
        "observedGeneration": 1,
    }


def widget_labels(number: int) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": widget_name(number),
        "bench.local/team": f"team-{number % 400:03d}",
    }


def stable_uuid(kind: str, number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}/{number}"))
