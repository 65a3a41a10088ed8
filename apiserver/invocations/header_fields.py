"""Headers that a caller may send along to a function."""

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
    """Headers for the function; their names are lower case from here on."""

    def __init__(self) -> None:
        super().__init__(
            validate=check_headers,
            metadata={
                "description": "Headers for the function: names are tokens, values printable "
                f"ASCII, at most {MAX_HEADERS} and {MAX_HEADER_BYTES} bytes together."
            },
        )

    def _deserialize(self, value: Any, *rest: Any, **more: Any) -> dict[str, str]:
        given = super()._deserialize(value, *rest, **more)
        lower = {name.lower(): each for name, each in given.items()}
        if len(lower) != len(given):
            raise ValidationError("has a name twice, in another case")
        return lower


class CallerHeadersParameter(StrictString):
    """The same in a query, where everything is text: as JSON."""

    def __init__(self) -> None:
        super().__init__(
            metadata={
                "description": "Headers for the function: a JSON object of texts, as text.",
                "x-example": '{"x-tenant": "blue"}',
            },
        )

    def _deserialize(self, value: Any, *rest: Any, **more: Any) -> Any:
        return _CALLER_HEADERS.deserialize(
            parse_json_object(super()._deserialize(value, *rest, **more))
        )


def check_headers(headers: dict[str, str]) -> None:
    """Refuse what would be read as something else on its way."""
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
        place = f"[{truncate(name)!r}]"
        if not _NAME.fullmatch(name):
            yield ErrorDetail(place, "is not the name of a header")
        elif name in RESERVED_HEADERS:
            yield ErrorDetail(place, "is a header that only this service sets")
        elif name in MESSAGE_HEADERS:
            yield ErrorDetail(place, "is a header of the connection or of the body")
        if not _VALUE.fullmatch(value):
            yield ErrorDetail(
                place, "has a value that is not printable ASCII without blanks around it"
            )
