"""Tests of the OpenAPI document: it is complete and reproducible."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from openapi_spec_validator import validate
from prometheus_client import CollectorRegistry

from apiserver.functions.schemas import ChangeFunctionSchema, CreateFunctionSchema
from apiserver.http.auth import required_role
from apiserver.http.openapi import build_openapi
from apiserver.invocations.schemas import InvokeSchema
from apiserver.routes import create_routes
from apiserver.schemas.request import RequestSchema
from apiserver.stock_pools.schemas import CreatePoolSchema, PoolSettingsSchema
from apiserver.stock_units.schemas import SeedStockSchema
from apiserver.storages.schemas import ChangeStorageSchema, CreateStorageSchema
from apiserver.units.schemas import ChangeUnitSchema, CreateUnitSchema

INVOKE = "/api/v1/serverless/invocations"
RAW = "/api/v1/serverless/functions/{requestID}/invoke"
WITHOUT_A_BODY = {
    "/api/v1/gpu-storages/{name}/recover",
    f"{INVOKE}/{{requestID}}/{{invocationID}}/redrive",
}


@pytest.fixture(name="document")
def _document() -> dict[str, object]:
    return dict(build_openapi(create_routes(CollectorRegistry()), "0.1.0"))


def test_the_openapi_document_is_valid(document: dict[str, Any]) -> None:
    validate(json.loads(json.dumps(document)))


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for field_value in value.values():
            yield from references(field_value)
    if isinstance(value, list):
        for item in value:
            yield from references(item)


def test_every_reference_has_a_definition(document: dict[str, object]) -> None:
    definitions = document["definitions"]
    assert isinstance(definitions, dict)
    assert {ref.removeprefix("#/definitions/") for ref in references(document)} <= set(definitions)


def check_example(value: object, schema: dict[str, Any], definitions: dict[str, Any]) -> None:
    """Check that an example matches its documented schema."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].removeprefix("#/definitions/")]
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": float | int}
    assert isinstance(value, kinds.get(schema.get("type", ""), object)), (value, schema)
    if isinstance(value, dict) and "properties" in schema:
        assert set(schema.get("required", ())) <= set(value) <= set(schema["properties"])
        for name, field_value in value.items():
            check_example(field_value, schema["properties"][name], definitions)
    if isinstance(value, list):
        for item in value:
            check_example(item, schema["items"], definitions)


def test_every_example_matches_its_schema(document: dict[str, Any]) -> None:
    for methods in document["paths"].values():
        for operation in methods.values():
            for response in operation["responses"].values():
                if "schema" in response:
                    example = response["examples"]["application/json"]
                    check_example(example, response["schema"], document["definitions"])


def test_only_body_parameters_have_a_schema_and_none_has_an_example(
    document: dict[str, Any],
) -> None:
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation["parameters"]:
                assert parameter.keys() & {"example", "schema"} <= {"schema"}
                assert ("schema" in parameter) is (parameter["in"] == "body")


def test_the_openapi_document_is_reproducible(document: dict[str, object]) -> None:
    again = build_openapi(create_routes(CollectorRegistry()), "0.1.0")
    assert json.dumps(again, sort_keys=True) == json.dumps(document, sort_keys=True)


def test_every_documented_response_has_an_example(document: dict[str, object]) -> None:
    paths = document["paths"]
    assert isinstance(paths, dict)
    for methods in paths.values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                assert response["description"]
                assert "X-Request-ID" in response["headers"]
                assert ("examples" in response) is (status != "204")
                assert set(response.get("examples", ())) <= set(operation["produces"])
                assert ("schema" in response) is (
                    "application/json" in response.get("examples", ())
                )


def test_only_the_html_pages_are_not_documented(document: dict[str, Any]) -> None:
    paths = {route.path.replace(":[^/]+", "") for route in create_routes(CollectorRegistry())}
    undocumented = paths - document["paths"].keys()
    assert {path for path in undocumented if path.startswith(("/swagger", "/ui"))} == undocumented


def test_every_request_body_has_a_valid_example(document: dict[str, Any]) -> None:
    schemas: dict[str, RequestSchema[Any]] = {
        "SeedStock": SeedStockSchema(),
        "CreatePool": CreatePoolSchema(),
        "PoolSettings": PoolSettingsSchema(),
        "CreateUnit": CreateUnitSchema(),
        "ChangeUnit": ChangeUnitSchema(),
        "CreateStorage": CreateStorageSchema(),
        "ChangeStorage": ChangeStorageSchema(),
        "CreateFunction": CreateFunctionSchema(),
        "ChangeFunction": ChangeFunctionSchema(),
        "Invoke": InvokeSchema(),
    }
    parameters = [
        parameter
        for path, methods in document["paths"].items()
        for operation in methods.values()
        for parameter in operation["parameters"]
        if path != RAW
    ]
    bodies = [item["schema"]["$ref"] for item in parameters if item["in"] == "body"]
    assert {ref.removeprefix("#/definitions/") for ref in bodies} == schemas.keys()
    for name, schema in schemas.items():
        assert schema.parse(document["definitions"][name]["example"])


def test_every_path_parameter_has_an_example(document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            parameters = [item for item in operation["parameters"] if item["in"] == "path"]
            names = [f"{{{parameter['name']}}}" for parameter in parameters]
            assert [name in path for name in names] == [True] * path.count("{")
            assert all(item["x-example"] and item["description"] for item in parameters)


def test_every_route_is_documented_with_its_methods(document: dict[str, object]) -> None:
    paths = document["paths"]
    assert isinstance(paths, dict)
    assert {path: list(methods) for path, methods in paths.items()} == {
        "/healthz": ["get"],
        "/readyz": ["get"],
        "/metrics": ["get"],
        "/api/v1/health": ["get"],
        "/api/v1/operator/stock-units": ["post", "get"],
        "/api/v1/operator/stock-units/{name}": ["delete"],
        "/api/v1/operator/stock-pools": ["post", "get"],
        "/api/v1/operator/stock-pools/{name}": ["get", "put", "delete"],
        "/api/v1/operator/specs": ["get"],
        "/api/v1/operator/jobs": ["get"],
        "/api/v1/operator/jobs/{operationID}": ["get"],
        "/api/v1/gpu-units": ["post", "get"],
        "/api/v1/gpu-units/{name}": ["get", "put", "delete"],
        "/api/v1/gpu-storages": ["post", "get"],
        "/api/v1/gpu-storages/{name}": ["get", "put", "delete"],
        "/api/v1/gpu-storages/{name}/recover": ["post"],
        "/api/v1/serverless/functions": ["post", "get"],
        "/api/v1/serverless/functions/{name}": ["get", "put", "delete"],
        RAW: ["post"],
        INVOKE: ["post", "get"],
        f"{INVOKE}/{{requestID}}/{{invocationID}}": ["get", "delete"],
        f"{INVOKE}/{{requestID}}/{{invocationID}}/body": ["get"],
        f"{INVOKE}/{{requestID}}/{{invocationID}}/redrive": ["post"],
        "/api/v1/serverless/dead-letters": ["get"],
    }


def test_every_route_with_a_body_documents_the_body_and_its_errors(
    document: dict[str, object],
) -> None:
    paths = document["paths"]
    assert isinstance(paths, dict)
    for path, methods in paths.items():
        for method in methods.keys() & {"post", "put"} if path not in WITHOUT_A_BODY else ():
            (body,) = (item for item in methods[method]["parameters"] if item["in"] == "body")
            assert body["required"] is (path != RAW)
            errors = {"400", "408", "413"} | ({"415"} if path != RAW else set())
            assert errors <= set(methods[method]["responses"])


def test_every_route_that_needs_kubernetes_documents_its_errors(
    document: dict[str, object],
) -> None:
    paths = document["paths"]
    assert isinstance(paths, dict)
    for path in paths.keys() - {"/healthz", "/readyz", "/metrics", "/api/v1/health"}:
        for method, operation in paths[path].items():
            responses = operation["responses"]
            assert {"400", "500", "503", "504"} <= set(responses)
            assert "Retry-After" in responses["503"]["headers"]
            names_object = "{" in path or (path, method) == (INVOKE, "post")
            assert ("404" in responses) is names_object


def test_every_route_that_requires_a_token_documents_it(document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            requires_token = required_role(path) is not None
            assert operation.get("security") == ([{"token": []}] if requires_token else None)
            assert ({"401", "403"} <= operation["responses"].keys()) is requires_token
    assert document["securityDefinitions"]["token"]["name"] == "Authorization"


def test_all_errors_of_one_status_are_described(document: dict[str, object]) -> None:
    paths = document["paths"]
    assert isinstance(paths, dict)
    description = paths["/api/v1/gpu-units"]["post"]["responses"]["409"]["description"]
    for code in ("operation_conflict", "already_exists", "insufficient_capacity", "conflict"):
        assert f"`{code}`" in description


def test_all_errors_of_one_status_have_an_example(document: dict[str, Any]) -> None:
    conflict = document["paths"]["/api/v1/gpu-units"]["post"]["responses"]["409"]
    in_description = re.findall(r"Example: `(.*?)`\.", conflict["description"])
    examples = [conflict["examples"]["application/json"], *map(json.loads, in_description)]
    codes = [example["error"]["code"] for example in examples]
    assert codes == ["operation_conflict", "already_exists", "insufficient_capacity", "conflict"]
    for example in examples:
        check_example(example, conflict["schema"], document["definitions"])
