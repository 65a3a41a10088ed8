"""Tests of the generated CRD manifests: complete for users and for the API server."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from hack.generate.crd import crd_definition, crd_manifest
from hack.generate.crd_resources import FUNCTION, GPU_UNIT, RESOURCES, STOCK_POOL, CustomResource


def schema_of(resource: CustomResource) -> dict[str, Any]:
    [version] = crd_definition(resource)["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, property_schema in schema.get("properties", {}).items():
        yield f"{path}.{name}", property_schema
        yield from fields(property_schema, f"{path}.{name}")
    if "items" in schema:
        yield from fields(schema["items"], f"{path}[]")


def field(resource: CustomResource, path: str) -> dict[str, Any]:
    return dict(fields(schema_of(resource)))[path]


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.plural)
def test_every_field_has_a_description(resource: CustomResource) -> None:
    all_fields = fields(schema_of(resource))
    undescribed = [path for path, schema in all_fields if not schema.get("description")]
    assert undescribed == [".metadata"]  # the API server adds its own description


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.plural)
def test_only_counts_that_are_columns_have_a_default_in_the_status(
    resource: CustomResource,
) -> None:
    defaults = {
        path: schema["default"]
        for path, schema in fields(schema_of(resource))
        if path.startswith(".status") and "default" in schema
    }
    assert set(defaults) <= {column.path for column in resource.columns}
    assert set(defaults.values()) <= {0}


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.plural)
def test_a_crd_manifest_is_plain_yaml_without_references(resource: CustomResource) -> None:
    text = crd_manifest(resource)
    assert yaml.safe_load(text) == crd_definition(resource)
    assert "&id" not in text


@pytest.mark.parametrize(
    ("path", "key"),
    [
        (".status.conditions", "type"),
        (".spec.template.envs", "name"),
        (".spec.template.ports", "name"),
        (".spec.storageMounts", "name"),
    ],
)
def test_lists_with_merge_keys_are_maps(path: str, key: str) -> None:
    schema = field(GPU_UNIT, path)
    assert schema["x-kubernetes-list-type"] == "map"
    assert schema["x-kubernetes-list-map-keys"] == [key]


def test_the_schema_does_not_restrict_memory() -> None:
    assert set(field(GPU_UNIT, ".spec.memory")) == {"type", "description"}


def test_bounds_and_defaults_reach_the_schema() -> None:
    port = field(GPU_UNIT, ".spec.template.ports[].port")
    assert (port["minimum"], port["maximum"]) == (1, 65535)
    assert field(GPU_UNIT, ".spec.template.ports[].protocol")["default"] == "TCP"
    assert field(FUNCTION, ".spec.timeoutSeconds")["maximum"] == 3570
    assert field(FUNCTION, ".spec.maxQueued")["default"] == 10000


def test_wide_columns_are_hidden_by_default() -> None:
    columns = crd_definition(GPU_UNIT)["spec"]["versions"][0]["additionalPrinterColumns"]
    wide = [column["name"] for column in columns if column.get("priority")]
    assert wide == ["GPU", "Memory", "Node", "Source"]


def test_the_scale_subresource_of_a_pool_has_a_label_selector() -> None:
    scale = crd_definition(STOCK_POOL)["spec"]["versions"][0]["subresources"]["scale"]
    assert scale["labelSelectorPath"] == ".status.selector"
