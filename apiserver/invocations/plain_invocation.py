"""The request that nearly every caller sends, read at a tenth of what a schema costs."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from apiserver.invocations.fields import LONGEST_WAIT
from shared.invocation.ids import is_invocation_id, is_request_id


class PlainInvocation(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A JSON payload for a function, and how to wait for its outcome."""

    invocation_id: str | None = msgspec.field(name="invocationID", default=None)
    request_id: str = msgspec.field(name="serverlessRequestID")
    mode: Literal["async", "sync"] = "async"
    payload: Any
    wait_seconds: Annotated[int, Meta(ge=1, le=LONGEST_WAIT)] | UnsetType = UNSET


def plain_invocation(given: object) -> PlainInvocation | None:
    """The request, if it is one; None for any other, and for every mistake: the schema tells it."""
    try:
        found = msgspec.convert(given, PlainInvocation)
    except msgspec.ValidationError:
        return None
    has_id = "invocationID" in given if isinstance(given, dict) else False
    is_named = not has_id or is_invocation_id(found.invocation_id or "")
    return found if is_named and is_request_id(found.request_id) else None
