"""Tests of the OpenAPI document: it is complete every time that it is built."""

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


@pytest.fixture(name="made")
def _made() -> dict[str, object]:
    return dict(build_openapi(create_routes(CollectorRegistry()), "0.1.0"))


def test_the_openapi_document_is_valid(made: dict[str, Any]) -> None:
    validate(json.loads(json.dumps(made)))


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    if isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_every_reference_leads_to_a_definition(made: dict[str, object]) -> None:
    definitions = made["definitions"]
    assert isinstance(definitions, dict)
    assert {ref.removeprefix("#/definitions/") for ref in references(made)} <= set(definitions)


def check(value: object, schema: dict[str, Any], definitions: dict[str, Any]) -> None:
    """Check that an example matches its documented schema."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].removeprefix("#/definitions/")]
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": float | int}
    assert isinstance(value, kinds.get(schema.get("type", ""), object)), (value, schema)
    if isinstance(value, dict) and "properties" in schema:
        assert set(schema.get("required", ())) <= set(value) <= set(schema["properties"])
        for name, inner in value.items():
            check(inner, schema["properties"][name], definitions)
    if isinstance(value, list):
        for inner in value:
            check(inner, schema["items"], definitions)


def test_every_example_has_the_documented_shape(made: dict[str, Any]) -> None:
    for methods in made["paths"].values():
        for operation in methods.values():
            for answer in operation["responses"].values():
                if "schema" in answer:
                    example = answer["examples"]["application/json"]
                    check(example, answer["schema"], made["definitions"])


def test_no_parameter_has_what_only_a_schema_may_have(made: dict[str, Any]) -> None:
    for methods in made["paths"].values():
        for operation in methods.values():
            for parameter in operation["parameters"]:
                assert parameter.keys() & {"example", "schema"} <= {"schema"}
                assert ("schema" in parameter) is (parameter["in"] == "body")


def test_the_openapi_document_is_reproducible(made: dict[str, object]) -> None:
    again = build_openapi(create_routes(CollectorRegistry()), "0.1.0")
    assert json.dumps(again, sort_keys=True) == json.dumps(made, sort_keys=True)


def test_every_documented_answer_has_an_example(made: dict[str, object]) -> None:
    paths = made["paths"]
    assert isinstance(paths, dict)
    for methods in paths.values():
        for operation in methods.values():
            for status, answer in operation["responses"].items():
                assert answer["description"]
                assert "X-Request-ID" in answer["headers"]
                assert ("examples" in answer) is (status != "204")
                assert set(answer.get("examples", ())) <= set(operation["produces"])
                assert ("schema" in answer) is ("application/json" in answer.get("examples", ()))


def test_only_the_html_pages_are_not_documented(made: dict[str, Any]) -> None:
    every = {route.path.replace(":[^/]+", "") for route in create_routes(CollectorRegistry())}
    left_out = every - made["paths"].keys()
    assert {path for path in left_out if path.startswith(("/swagger", "/ui"))} == left_out


def test_every_body_has_an_example_that_can_be_sent_as_it_is(made: dict[str, Any]) -> None:
    readers: dict[str, RequestSchema[Any]] = {
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
        for path, methods in made["paths"].items()
        for operation in methods.values()
        for parameter in operation["parameters"]
        if path != RAW
    ]
    bodies = [each["schema"]["$ref"] for each in parameters if each["in"] == "body"]
    assert {ref.removeprefix("#/definitions/") for ref in bodies} == readers.keys()
    for name, schema in readers.items():
        assert schema.parse(made["definitions"][name]["example"])


def test_every_part_of_a_path_has_an_example(made: dict[str, Any]) -> None:
    for path, methods in made["paths"].items():
        for operation in methods.values():
            found = [each for each in operation["parameters"] if each["in"] == "path"]
            assert [f"{{{each['name']}}}" in path for each in found] == [True] * path.count("{")
            assert all(each["x-example"] and each["description"] for each in found)


def test_each_route_is_documented_once_and_by_its_own_method(made: dict[str, object]) -> None:
    paths = made["paths"]
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


def test_every_route_that_writes_documents_its_body_and_what_is_wrong_with_it(
    made: dict[str, object],
) -> None:
    paths = made["paths"]
    assert isinstance(paths, dict)
    for path, methods in paths.items():
        for method in methods.keys() & {"post", "put"} if path not in WITHOUT_A_BODY else ():
            (body,) = (each for each in methods[method]["parameters"] if each["in"] == "body")
            assert body["required"] is (path != RAW)
            wrong = {"400", "408", "413"} | ({"415"} if path != RAW else set())
            assert wrong <= set(methods[method]["responses"])


def test_every_route_behind_kubernetes_says_how_it_fails(made: dict[str, object]) -> None:
    paths = made["paths"]
    assert isinstance(paths, dict)
    for path in paths.keys() - {"/healthz", "/readyz", "/metrics", "/api/v1/health"}:
        for method, operation in paths[path].items():
            answers = operation["responses"]
            assert {"400", "500", "503", "504"} <= set(answers)
            assert "Retry-After" in answers["503"]["headers"]
            names_one = "{" in path or (path, method) == (INVOKE, "post")
            assert ("404" in answers) is names_one


def test_every_route_that_asks_for_a_token_says_so(made: dict[str, Any]) -> None:
    for path, methods in made["paths"].items():
        for operation in methods.values():
            is_guarded = required_role(path) is not None
            assert operation.get("security") == ([{"token": []}] if is_guarded else None)
            assert ({"401", "403"} <= operation["responses"].keys()) is is_guarded
    assert made["securityDefinitions"]["token"]["name"] == "Authorization"


def test_failures_with_one_status_are_all_named(made: dict[str, object]) -> None:
    paths = made["paths"]
    assert isinstance(paths, dict)
    said = paths["/api/v1/gpu-units"]["post"]["responses"]["409"]["description"]
    for code in ("operation_conflict", "already_exists", "insufficient_capacity", "conflict"):
        assert f"`{code}`" in said


def test_failures_with_one_status_all_have_an_example(made: dict[str, Any]) -> None:
    refused = made["paths"]["/api/v1/gpu-units"]["post"]["responses"]["409"]
    in_the_text = re.findall(r"Example: `(.*?)`\.", refused["description"])
    shown = [refused["examples"]["application/json"], *map(json.loads, in_the_text)]
    codes = [each["error"]["code"] for each in shown]
    assert codes == ["operation_conflict", "already_exists", "insufficient_capacity", "conflict"]
    for each in shown:
        check(each, refused["schema"], made["definitions"])
