"""The custom resource of the benchmarks: an object of about 2 KB that resembles a unit."""

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


def widget_crd() -> dict[str, Any]:
    """Return the CustomResourceDefinition of widgets."""
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": object_schema(spec=spec_schema(), status=status_schema())},
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
    resources = object_schema(requests=STRINGS, limits=STRINGS)
    container = object_schema(
        name=STRING,
        image=STRING,
        args=array_schema(STRING),
        env=array_schema(object_schema(name=STRING, value=STRING)),
        ports=array_schema(object_schema(name=STRING, containerPort=INTEGER, protocol=STRING)),
        resources=resources,
        volumeMounts=array_schema(object_schema(name=STRING, mountPath=STRING)),
    )
    return object_schema(
        stamp=STRING,
        replicas=INTEGER,
        paused={"type": "boolean"},
        selector=STRINGS,
        nodeSelector=STRINGS,
        strategy=object_schema(type=STRING, maxSurge=INTEGER, maxUnavailable=INTEGER),
        containers=array_schema(container),
    )


def status_schema() -> dict[str, Any]:
    names = ("type", "status", "reason", "message", "lastTransitionTime")
    condition = object_schema(**dict.fromkeys(names, STRING), observedGeneration=INTEGER)
    return object_schema(
        phase=STRING,
        replicas=INTEGER,
        readyReplicas=INTEGER,
        observedGeneration=INTEGER,
        conditions=array_schema(condition),
    )


def object_schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def array_schema(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def widgets_path(namespace: str = "") -> str:
    """Return the path of all widgets, or of those in `namespace`."""
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/{GROUP}/{VERSION}{scope}/{PLURAL}"


def widget_path(number: int) -> str:
    """Return the path of the widget `number`."""
    return f"{widgets_path(widget_namespace(number))}/{widget_name(number)}"


def bench_namespaces() -> list[str]:
    return [widget_namespace(number) for number in range(NAMESPACES)]


def widget_namespace(number: int) -> str:
    return f"bench-{number % NAMESPACES:02d}"


def widget_name(number: int) -> str:
    return f"widget-{number:05d}"


def compact_json(value: Any) -> bytes:
    """Encode as JSON without spaces, as the API server stores it."""
    return json.dumps(value, separators=(",", ":")).encode()
