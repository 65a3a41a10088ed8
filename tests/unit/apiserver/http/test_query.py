"""Tests of query parameters: parsing is strict."""

from json import dumps
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from apiserver.errors import ErrorDetail, InvalidRequestError
from apiserver.http.query import read_query, require_no_query
from apiserver.invocations.commands import Invoke
from apiserver.invocations.schemas import InvokeQuerySchema
from apiserver.operations.schemas import JobsQuery, JobsQuerySchema
from apiserver.schemas.queries import PageQuery, PageQuerySchema, QuerySchema
from apiserver.units.commands import ListUnits
from apiserver.units.schemas import StockUnitsQuerySchema, UnitsQuerySchema, WaitReadyQuerySchema
from shared.v1alpha1.operation import OperationType
from shared.v1alpha1.phases import OperationPhase

UNREADABLE = "is not valid JSON"
NO_VALUE = "Expecting value at line 1 column 1"
PHASES = "is not one of Progressing, Ready, Failed"


def read(schema: QuerySchema[Any], query: str) -> object:
    return read_query(make_mocked_request("GET", f"/?{query}"), schema)


def details(schema: QuerySchema[Any], query: str) -> list[tuple[str, str]]:
    with pytest.raises(InvalidRequestError) as caught:
        read(schema, query)
    return [tuple(detail) for detail in caught.value.details]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("schema", "query", "value"),
    [
        (PageQuerySchema(), "", PageQuery(100, "")),
        (PageQuerySchema(), "limit=500&continue=abc%3D", PageQuery(500, "abc=")),
        (StockUnitsQuerySchema(), "phase=Ready&specName=g1.1", ListUnits("g1.1", "Ready")),
        (UnitsQuerySchema(), "label=a%3Db,!c&limit=1", ListUnits(label="a=b,!c", limit=1)),
        (JobsQuerySchema(), "", JobsQuery(100, "")),
        (
            JobsQuerySchema(),
            "type=create_gpu_unit&status=failed",
            JobsQuery(100, "", OperationType.CREATE_GPU_UNIT, OperationPhase.FAILED),
        ),
        (WaitReadyQuerySchema(), "", None),
        (WaitReadyQuerySchema(), "timeoutSeconds=5", None),
        (WaitReadyQuerySchema(), "wait=Ready", 60),
        (WaitReadyQuerySchema(), "wait=Ready&timeoutSeconds=300", 300),
        (InvokeQuerySchema(), "attributes={}", Invoke(function_name="")),
        (
            InvokeQuerySchema(),
            "attributes=%7B%22a%22:%20[1,%20null,%20%22%C3%A9+%26%22]%7D&mode=sync",
            Invoke(function_name="", attributes={"a": [1, None, "é &"]}, wait_seconds=30),
        ),
        (
            InvokeQuerySchema(),
            "headers=%7B%22X-Tenant%22:%20%22blue%22%7D",
            Invoke(function_name="", headers={"x-tenant": "blue"}),
        ),
    ],
)
def test_valid_parameters_are_parsed(schema: QuerySchema[Any], query: str, value: object) -> None:
    assert read(schema, query) == value


@pytest.mark.parametrize(
    ("schema", "query", "problems"),
    [
        (PageQuerySchema(), "limit=0", [("query.limit", "must be from 1 to 500")]),
        (PageQuerySchema(), "limit=501", [("query.limit", "must be from 1 to 500")]),
        (PageQuerySchema(), "limit=", [("query.limit", "is not a whole number")]),
        (PageQuerySchema(), "limit=1.0", [("query.limit", "is not a whole number")]),
        (PageQuerySchema(), "limit=%2B1", [("query.limit", "is not a whole number")]),
        (PageQuerySchema(), "limit=1_0", [("query.limit", "is not a whole number")]),
        (PageQuerySchema(), "limit=%D9%A3", [("query.limit", "is not a whole number")]),
        (PageQuerySchema(), "limit=1&limit=2", [("query.limit", "is given twice")]),
        (PageQuerySchema(), "phase=Ready", [("query.phase", "there is no such parameter")]),
        (StockUnitsQuerySchema(), "label=a", [("query.label", "there is no such parameter")]),
        (StockUnitsQuerySchema(), "phase=ready", [("query.phase", PHASES)]),
        (
            StockUnitsQuerySchema(),
            "specName=",
            [
                (
                    "query.specName",
                    '"" is not a spec name: letters, digits, -, _ and ., at most 63 characters, '
                    "such as eu-west",
                )
            ],
        ),
        (
            UnitsQuerySchema(),
            "label=a%3Db%3Dc&phase=x",
            [
                ("query.phase", PHASES),
                (
                    "query.label",
                    '"a=b=c" is not a label selector such as team=blue,tier in (web,api),!spare',
                ),
            ],
        ),
        (WaitReadyQuerySchema(), "wait=Failed", [("query.wait", "must be Ready")]),
        (
            WaitReadyQuerySchema(),
            "wait=Ready&timeoutSeconds=301",
            [("query.timeoutSeconds", "must be from 1 to 300")],
        ),
        (InvokeQuerySchema(), "attributes=[1]", [("query.attributes", "is not a JSON object")]),
        (
            InvokeQuerySchema(),
            'attributes={"a":1,"a":2}',
            [("query.attributes", f'{UNREADABLE}: the key "a" is repeated')],
        ),
        (
            InvokeQuerySchema(),
            "attributes=",
            [("query.attributes", f"{UNREADABLE}: {NO_VALUE}")],
        ),
        (
            InvokeQuerySchema(),
            f'attributes={{"a":"{"x" * 4096}"}}',
            [("query.attributes", "is larger than 4096 bytes as JSON")],
        ),
        (InvokeQuerySchema(), "headers=a:b", [("query.headers", f"{UNREADABLE}: {NO_VALUE}")]),
        (
            InvokeQuerySchema(),
            'headers={"Host":"b","X-Run":"9","x":"a%5Cr%5Cnb:c"}',
            [
                ("query.headers['host']", "is a header of the connection or of the body"),
                ("query.headers['x-run']", "is a header that only this service sets"),
                (
                    "query.headers['x']",
                    "must be printable ASCII, without a space at either end",
                ),
            ],
        ),
        (
            InvokeQuerySchema(),
            f"headers={dumps({f'x-{number}': '' for number in range(101)})}",
            [("query.headers", "has more than 100 headers")],
        ),
        (JobsQuerySchema(), "phase=Failed", [("query.phase", "there is no such parameter")]),
    ],
)
def test_every_problem_of_a_query_is_reported(
    schema: QuerySchema[Any], query: str, problems: list[tuple[str, str]]
) -> None:
    assert details(schema, query) == problems


def test_a_route_without_parameters_refuses_parameters() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        require_no_query(make_mocked_request("GET", "/?verbose=1"))
    assert caught.value.details == (ErrorDetail("query.verbose", "there is no such parameter"),)
