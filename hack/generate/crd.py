"""manifests/crd: the definitions of our custom resources, from their models."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_type_hints

import yaml

from hack.generate.crd_resources import RESOURCES, Column, Resource
from hack.generate.crd_schema import Schema, of_type
from shared.v1alpha1.group import GROUP, VERSION

HEADER = "# Generated from the models in shared/v1alpha1 by `make generate`.\n"
CATEGORY = "gpuruntime"


def manifest(resource: Resource) -> str:
    """One file, the same whenever the model is."""
    return HEADER + yaml.safe_dump(definition(resource), sort_keys=False, width=100)


def definition(resource: Resource) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{resource.plural}.{GROUP}",
            "labels": {"app.kubernetes.io/part-of": "gpu-runtime"},
        },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": names(resource),
            "versions": [version(resource)],
        },
    }


def names(resource: Resource) -> dict[str, Any]:
    kind = resource.model.__name__
    return {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": resource.plural,
        "singular": kind.lower(),
        "shortNames": [resource.short],
        "categories": [CATEGORY],
    }


def version(resource: Resource) -> dict[str, Any]:
    scale = {"scale": dict(resource.scale)} if resource.scale else {}
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}, **scale},
        "selectableFields": [{"jsonPath": path} for path in resource.selectable],
        "additionalPrinterColumns": [column(each) for each in resource.columns],
        "schema": {"openAPIV3Schema": root(resource)},
    }


def column(shown: Column) -> dict[str, Any]:
    wide = {"priority": 1} if shown.wide else {}
    return {"name": shown.name, "type": shown.type, "jsonPath": shown.path, **wide}


def root(resource: Resource) -> Schema:
    """The whole object: what every object has, then our spec and status."""
    rule, message = resource.name_rule
    return {
        "type": "object",
        "description": resource.model.__doc__,
        "required": ["spec"],
        "properties": {
            "apiVersion": text("The version of the API that this object is written in."),
            "kind": text("The kind of this object."),
            "metadata": metadata(),
            "spec": part(resource, "spec", with_defaults=True),
            "status": part(resource, "status", with_defaults=False),
        },
        "x-kubernetes-validations": [
            {"rule": rule, "message": message, "fieldPath": ".metadata.name"}
        ],
    }


def metadata() -> Schema:
    """The server brings its own and suffers no words here; a refusal points at what is declared."""
    name = text("What the object is called, once in its namespace.")
    return {"type": "object", "properties": {"name": name}}


def part(resource: Resource, name: str, *, with_defaults: bool) -> Schema:
    hints = get_type_hints(resource.model, include_extras=True)
    return of_type(hints[name], with_defaults=with_defaults)


def text(description: str) -> Schema:
    return {"type": "string", "description": description}


FILES: Mapping[str, Callable[[], str]] = {
    f"manifests/crd/{resource.plural}.yaml": partial(manifest, resource) for resource in RESOURCES
}
