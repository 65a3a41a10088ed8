"""The generator of manifests/crd: the definitions of our custom resources, from their models."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_type_hints

import yaml

from hack.generate.crd_resources import RESOURCES, CustomResource, PrinterColumn
from hack.generate.crd_schema import Schema, schema_of_type
from shared.v1alpha1.group import GROUP, VERSION

FILE_HEADER = "# Generated from the models in shared/v1alpha1 by `make generate`.\n"
CATEGORY = "gpuruntime"


def crd_manifest(resource: CustomResource) -> str:
    """Return the file of one definition."""
    return FILE_HEADER + yaml.safe_dump(crd_definition(resource), sort_keys=False, width=100)


def crd_definition(resource: CustomResource) -> dict[str, Any]:
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
            "names": crd_names(resource),
            "versions": [crd_version(resource)],
        },
    }


def crd_names(resource: CustomResource) -> dict[str, Any]:
    kind = resource.model.__name__
    return {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": resource.plural,
        "singular": kind.lower(),
        "shortNames": [resource.short_name],
        "categories": [CATEGORY],
    }


def crd_version(resource: CustomResource) -> dict[str, Any]:
    scale = {"scale": dict(resource.scale)} if resource.scale else {}
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}, **scale},
        "selectableFields": [{"jsonPath": path} for path in resource.selectable],
        "additionalPrinterColumns": [printer_column(column) for column in resource.columns],
        "schema": {"openAPIV3Schema": object_schema(resource)},
    }


def printer_column(column: PrinterColumn) -> dict[str, Any]:
    wide = {"priority": 1} if column.wide else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path, **wide}


def object_schema(resource: CustomResource) -> Schema:
    """Return the schema of the whole object: the common fields, then our spec and status."""
    rule, message = resource.name_rule
    return {
        "type": "object",
        "description": resource.model.__doc__,
        "required": ["spec"],
        "properties": {
            "apiVersion": text_schema("The API version of this object."),
            "kind": text_schema("The kind of this object."),
            "metadata": metadata_schema(),
            "spec": part_schema(resource, "spec", with_defaults=True),
            "status": part_schema(resource, "status", with_defaults=False),
        },
        "x-kubernetes-validations": [
            {"rule": rule, "message": message, "fieldPath": ".metadata.name"}
        ],
    }


def metadata_schema() -> Schema:
    """Return a schema of the name alone, for the name rule; the server has a full one."""
    name = text_schema("The name of the object, unique in its namespace.")
    return {"type": "object", "properties": {"name": name}}


def part_schema(resource: CustomResource, name: str, *, with_defaults: bool) -> Schema:
    hints = get_type_hints(resource.model, include_extras=True)
    return schema_of_type(hints[name], with_defaults=with_defaults)


def text_schema(description: str) -> Schema:
    return {"type": "string", "description": description}


GENERATED_FILES: Mapping[str, Callable[[], str]] = {
    f"manifests/crd/{resource.plural}.yaml": partial(crd_manifest, resource)
    for resource in RESOURCES
}
