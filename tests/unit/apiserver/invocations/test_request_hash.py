"""Tests of the request hash: which invocations count as the same request."""

from dataclasses import replace
from typing import Any

import pytest

from apiserver.invocations.commands import Invoke
from apiserver.invocations.payload_upload import Payload
from apiserver.invocations.schemas import InvokeSchema
from apiserver.invocations.submission import invocation_hash
from shared.invocation.record import InvocationBody

PAYLOAD = Payload(InvocationBody(inline=b"x", size=1), "digest")
COMMAND = Invoke(function_name="echo", headers={"b": "1", "a": "2"}, attributes={"y": 1, "x": [2]})


def test_the_hash_ignores_key_order_wait_time_and_payload_storage() -> None:
    same = replace(
        COMMAND,
        headers={"a": "2", "b": "1"},
        attributes={"x": [2], "y": 1},
        wait_seconds=5,
        invocation_id="named",
    )
    stored_payload = Payload(InvocationBody(object_name="o", size=1), "digest")
    assert invocation_hash(same, stored_payload) == invocation_hash(COMMAND, PAYLOAD)


@pytest.mark.parametrize(
    "change",
    [
        {"content_type": "text/plain"},
        {"headers": {"a": "2"}},
        {"attributes": {}},
        {"ttl_seconds": 9},
    ],
)
def test_the_hash_covers_every_field_that_the_function_gets(change: dict[str, Any]) -> None:
    assert invocation_hash(replace(COMMAND, **change), PAYLOAD) != invocation_hash(COMMAND, PAYLOAD)


def test_another_payload_is_another_request() -> None:
    other_payload = Payload(InvocationBody(inline=b"y", size=1), "other")
    assert invocation_hash(COMMAND, other_payload) != invocation_hash(COMMAND, PAYLOAD)


def test_the_order_of_keys_does_not_change_a_json_payload() -> None:
    schema = InvokeSchema()
    first = schema.parse({"serverlessRequestID": "f", "payload": {"a": 1, "b": {"d": 2, "c": 3}}})
    same = schema.parse({"serverlessRequestID": "f", "payload": {"b": {"c": 3, "d": 2}, "a": 1}})
    assert first.payload == same.payload == b'{"a":1,"b":{"c":3,"d":2}}'
    assert first.command.content_type == "application/json"


def test_an_absent_payload_is_empty_and_null_is_json_null() -> None:
    schema = InvokeSchema()
    assert schema.parse({"serverlessRequestID": "f"}).payload == b""
    assert schema.parse({"serverlessRequestID": "f", "payload": None}).payload == b"null"
    assert schema.parse({"serverlessRequestID": "f", "payloadBase64": "/w=="}).payload == b"\xff"
