"""Tests of body parsing: invalid, ambiguous and too deeply nested JSON is rejected."""

import pytest

from apiserver.errors import InvalidRequestError, ServiceUnavailableError
from apiserver.http.body import ByteBudget, decode_json_object
from apiserver.schemas.strict_json import MAX_DEPTH

MALFORMED = "the body is not valid JSON: "


def nested_object(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"{}", {}),
        (b' {"a": [1, -1.5, null, true, "\xc3\xa9"]} ', {"a": [1, -1.5, None, True, "é"]}),
        (b'{"a": 9223372036854775807}', {"a": 2**63 - 1}),
        (b'{"a": -9223372036854775808}', {"a": -(2**63)}),
        (b'{"a": 1.0}', {"a": 1.0}),
        (b'{"a": "\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        (b'{"a": "[[[[{{{{\\"[[["}', {"a": '[[[[{{{{"[[['}),
        (b'{"a": {"b": 1}, "c": {"b": 1}}', {"a": {"b": 1}, "c": {"b": 1}}),
    ],
)
def test_valid_json_is_decoded(body: bytes, value: object) -> None:
    assert decode_json_object(body) == value


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "Expecting value at line 1 column 1"),
        (b'{"a": 1', "Expecting ',' delimiter at line 1 column 8"),
        (b'{\n  "a": 1,\n}', "Illegal trailing comma before end of object at line 2 column 9"),
        (b"{'a': 1}", "Expecting property name enclosed in double quotes at line 1 column 2"),
        (b"{} {}", "Extra data at line 1 column 4"),
        (b"\xef\xbb\xbf{}", "Expecting value at line 1 column 1"),
        (b'{"a": "x\ny"}', "Invalid control character at line 1 column 9"),
        (b'{"a": 1, "a": 1}', 'the key "a" is repeated'),
        (b'{"x": {"a\\n": 1, "a\\n": 2}}', 'the key "a\\n" is repeated'),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": Infinity}', "Infinity is not a number"),
        (b'{"a": -Infinity}', "-Infinity is not a number"),
        (b'{"a": 9223372036854775808}', "the number 9223372036854775808 exceeds 64 bits"),
        (b'{"a": 1e400}', "the number 1e400 exceeds 64 bits"),
        (b'{"a": -1e19}', "the number -1e19 exceeds 64 bits"),
        (b'{"a": ' + b"9" * 100_000 + b"}", f"the number {'9' * 77}... exceeds 64 bits"),
        (nested_object(MAX_DEPTH + 1), "it is nested deeper than 64 levels"),
        (b"[" * 100_000, "it is nested deeper than 64 levels"),
        (b'{"a": "\xff"}', "byte 7 is not UTF-8"),
        (b'{"a": "\xed\xa0\x80"}', "byte 7 is not UTF-8"),
        (b'{"a": "\\ud800"}', "a string contains an unpaired surrogate"),
        (b'{"\\udc00": 1}', "a string contains an unpaired surrogate"),
    ],
)
def test_malformed_json_is_refused_with_the_reason(body: bytes, reason: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        decode_json_object(body)
    message = caught.value.message.removeprefix(MALFORMED)
    # Python versions word the error for a trailing comma differently.
    assert message == reason or (
        "trailing comma" in reason and message.startswith("Expecting property")
    )


@pytest.mark.parametrize("body", [b"[]", b"1", b'"text"', b"null", b"true"])
def test_a_json_body_that_is_not_an_object_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequestError, match="the body must be a JSON object"):
        decode_json_object(body)


def test_json_of_the_maximum_depth_is_decoded() -> None:
    assert decode_json_object(nested_object(MAX_DEPTH))


def test_a_reservation_beyond_the_byte_budget_is_refused() -> None:
    budget = ByteBudget(100)
    with budget.reserve(60):
        with (
            budget.reserve(40),
            pytest.raises(ServiceUnavailableError),
            budget.reserve(1),
        ):
            pass
        with budget.reserve(40):
            pass


def test_a_reservation_above_the_whole_budget_is_allowed_alone() -> None:
    budget = ByteBudget(100)
    with budget.reserve(1000), pytest.raises(ServiceUnavailableError), budget.reserve(1):
        pass
    with budget.reserve(1):
        pass
