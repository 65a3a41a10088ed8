"""The bench's custom resource: a made-up unit of about 2 KB that looks like a real one."""

import json
from typing import Any

GROUP = "bench.local"
VERSION = "v1"
PLURAL = "widgets"
RESOURCE = f"{GROUP}/{VERSION}/{PLURAL}"
NAMESPACES = 20

STRING = {"type": "string"}
INTEGER = {"type": "integer", "format": "int64"}
STRINGS = {"type": "object", "additionalProperties": STRING}


def crd() -> dict[str, Any]:
    """The CustomResourceDefinition of widgets."""
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": record(spec=spec_schema(), status=status_schema())},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": PLURAL, "singular": "widget", "kind": "Widget"},
            "versions": [version],
        },
    }


def spec_schema() -> dict[str, Any]:
    resources = record(requests=STRINGS, limits=STRINGS)
    container = record(
        name=STRING,
        image=STRING,
        args=listed(STRING),
        env=listed(record(name=STRING, value=STRING)),
        ports=listed(record(name=STRING, containerPort=INTEGER, protocol=STRING)),
        resources=resources,
        volumeMounts=listed(record(name=STRING, mountPath=STRING)),
    )
    return record(
        stamp=STRING,
        replicas=INTEGER,
        paused={"type": "boolean"},
        selector=STRINGS,
        nodeSelector=STRINGS,
        strategy=record(type=STRING, maxSurge=INTEGER, maxUnavailable=INTEGER),
        containers=listed(container),
    )


def status_schema() -> dict[str, Any]:
    names = ("type", "status", "reason", "message", "lastTransitionTime")
    condition = record(**dict.fromkeys(names, STRING), observedGeneration=INTEGER)
    return record(
        phase=STRING,
        replicas=INTEGER,
        readyReplicas=INTEGER,
        observedGeneration=INTEGER,
        conditions=listed(condition),
    )


def record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def listed(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def collection(namespace: str = "") -> str:
    """The path of all widgets, or of those in `namespace`."""
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/{GROUP}/{VERSION}{inside}/{PLURAL}"


def path(number: int) -> str:
    """The path of the widget `number`."""
    return f"{collection(namespace_of(number))}/{name_of(number)}"


def namespaces() -> list[str]:
    return [namespace_of(number) for number in range(NAMESPACES)]


def namespace_of(number: int) -> str:
    return f"bench-{number % NAMESPACES:02d}"


def name_of(number: int) -> str:
    return f"widget-{number:05d}"


def compact(value: Any) -> bytes:
    """JSON as the API server stores it: without spaces."""
    return json.dumps(value, separators=(",", ":")).encode()
