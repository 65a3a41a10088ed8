"""The OpenAPI document is whole, however often it is made."""

import json
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from apiserver.document import document
from apiserver.routes import routes


@pytest.fixture(name="made")
def _made() -> dict[str, object]:
    return dict(document(routes(CollectorRegistry()), "0.1.0"))


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


def test_making_it_again_gives_the_same(made: dict[str, object]) -> None:
    again = document(routes(CollectorRegistry()), "0.1.0")
    assert json.dumps(again, sort_keys=True) == json.dumps(made, sort_keys=True)


def test_every_documented_answer_has_an_example(made: dict[str, object]) -> None:
    paths = made["paths"]
    assert isinstance(paths, dict)
    for methods in paths.values():
        for operation in methods.values():
            for answer in operation["responses"].values():
                assert answer["examples"]["application/json"]
                assert answer["description"]


def test_each_route_is_documented_once_and_by_its_own_method(made: dict[str, object]) -> None:
    paths = made["paths"]
    assert isinstance(paths, dict)
    assert {path: list(methods) for path, methods in paths.items()} == {
        "/healthz": ["get"],
        "/readyz": ["get"],
        "/api/v1/health": ["get"],
    }
