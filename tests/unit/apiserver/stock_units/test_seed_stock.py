"""Tests of the schema of requests that seed stock."""

from typing import Any

import pytest

from apiserver.config import RequestLimits
from apiserver.stock_units.commands import SeedStock
from apiserver.stock_units.schemas import SeedStockSchema
from tests.unit.apiserver.field_errors import field_errors

MINIMAL_BODY = {"operationID": "s-1", "specName": "g1.1", "replicas": 1}
REFUSAL = "is not a Kubernetes quantity such as 64Gi, 1.5G, 500m or 1e3, at most 2^63-1"


@pytest.mark.parametrize(
    ("fields", "command"),
    [
        ({}, SeedStock("s-1", "g1.1", 1)),
        ({"replicas": 1000}, SeedStock("s-1", "g1.1", 1000)),
        ({"memory": "64Gi", "gpu": 0}, SeedStock("s-1", "g1.1", 1, memory="64Gi", gpu=0)),
    ],
)
def test_seed_requests_are_read(fields: dict[str, Any], command: SeedStock) -> None:
    assert SeedStockSchema().parse({**MINIMAL_BODY, **fields}) == command


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"replicas": 0}, {"replicas": "must be from 1 to 1000"}),
        ({"replicas": 1001}, {"replicas": "must be from 1 to 1000"}),
        ({"replicas": "1"}, {"replicas": "is not a whole number"}),
        ({"replicas": None}, {"replicas": "must not be null"}),
        ({"gpu": -1}, {"gpu": "must be from 0 to 2147483647"}),
        ({"memory": "0"}, {"memory": '"0" must be greater than 0'}),
        ({"memory": "64GB"}, {"memory": f'"64GB" {REFUSAL}'}),
        ({"memory": "+1Gi"}, {"memory": f'"+1Gi" {REFUSAL}'}),
        ({"memory": "-1Gi"}, {"memory": f'"-1Gi" {REFUSAL}'}),
        ({"memory": ""}, {"memory": f'"" {REFUSAL}'}),
        ({"memory": "9e999"}, {"memory": f'"9e999" {REFUSAL}'}),
        ({"memory": 64}, {"memory": "is not text"}),
        (
            {"image": "x", "template": {}, "access": {}},
            dict.fromkeys(
                ("image", "template", "access"), "cannot be set: a stock unit runs no user program"
            ),
        ),
        ({"cpu": "1"}, {"cpu": "there is no such field"}),
    ],
)
def test_problems_of_a_seed_are_named_by_field(
    fields: dict[str, Any], errors: dict[str, str]
) -> None:
    assert field_errors(SeedStockSchema(), {**MINIMAL_BODY, **fields}) == errors


def test_the_maximum_of_replicas_is_configurable() -> None:
    schema = SeedStockSchema(RequestLimits(max_seed_replicas=5))
    assert field_errors(schema, {**MINIMAL_BODY, "replicas": 6}) == {
        "replicas": "must be from 1 to 5"
    }
    assert SeedStockSchema().parse({**MINIMAL_BODY, "replicas": 6}).replicas == 6
