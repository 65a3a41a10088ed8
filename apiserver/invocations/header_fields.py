"""Fields for the headers that a caller passes to a function."""

import re
from collections.abc import Iterator
from typing import Any, Final

from marshmallow import ValidationError

from apiserver.errors import ErrorDetail
from apiserver.invocations.fields import parse_json_object
from apiserver.schemas.fields import StrictString, StringDict
from shared.invocation import framework_protocol
from shared.invocation.limits import MAX_HEADER_BYTES, MAX_HEADERS
from shared.v1alpha1.validation.problem import truncate

RESERVED_HEADERS: Final = frozenset(
    name.lower()
    for name in (
        framework_protocol.INVOCATION_HEADER,
        framework_protocol.FUNCTION_HEADER,
        framework_protocol.RUN_HEADER,
        framework_protocol.ATTEMPT_HEADER,
        framework_protocol.DEADLINE_HEADER,
        framework_protocol.ATTRIBUTES_HEADER,
        framework_protocol.RETRYABLE_HEADER,
    )
)
MESSAGE_HEADERS: Final = frozenset(
    {
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"([!-~]([ -~]*[!-~])?)?")


class CallerHeaders(StringDict):
    """Headers for the function; parsing converts their names to lower case."""

    def __init__(self) -> None:
        super().__init__(
            validate=check_headers,
            metadata={
                "description": f"Headers for the function: at most {MAX_HEADERS}, and "
                f"{MAX_HEADER_BYTES} bytes in total; names are tokens, values printable ASCII."
            },
        )

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> dict[str, str]:
        headers = super()._deserialize(value, *args, **kwargs)
        lower_case = {name.lower(): text for name, text in headers.items()}
        if len(lower_case) != len(headers):
            raise ValidationError("has names that differ only in case")
        return lower_case


class CallerHeadersParameter(StrictString):
    """Headers as a query parameter, which holds JSON as text."""

    def __init__(self) -> None:
        super().__init__(
            metadata={
                "description": "Headers for the function: a JSON object of strings, as text.",
                "x-example": '{"x-tenant": "blue"}',
            },
        )

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return _CALLER_HEADERS.deserialize(
            parse_json_object(super()._deserialize(value, *args, **kwargs))
        )


def check_headers(headers: dict[str, str]) -> None:
    """Raise ValidationError for headers that are invalid, reserved or too many."""
    problems: list[Any] = list(_header_problems(headers))
    if len(headers) > MAX_HEADERS:
        problems.append(f"has more than {MAX_HEADERS} headers")
    if sum(len(name) + len(value) for name, value in headers.items()) > MAX_HEADER_BYTES:
        problems.append(f"is larger than {MAX_HEADER_BYTES} bytes")
    if problems:
        raise ValidationError(problems)


_CALLER_HEADERS: Final = CallerHeaders()


def _header_problems(headers: dict[str, str]) -> Iterator[ErrorDetail]:
    for name, value in headers.items():
        field = f"[{truncate(name)!r}]"
        if not _NAME.fullmatch(name):
            yield ErrorDetail(field, "is not a valid header name")
        elif name in RESERVED_HEADERS:
            yield ErrorDetail(field, "is a header that only this service sets")
        elif name in MESSAGE_HEADERS:
            yield ErrorDetail(field, "is a header of the connection or of the body")
        if not _VALUE.fullmatch(value):
            yield ErrorDetail(field, "must be printable ASCII, without a space at either end")
