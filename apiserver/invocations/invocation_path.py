"""The ids in the paths of invocations."""

from typing import Final

from aiohttp import web

from apiserver.errors import NotFoundError
from apiserver.http.openapi import InPath
from apiserver.invocations.fields import INVOCATION_ID_RULES
from shared.invocation.ids import PATTERN, is_invocation_id, is_request_id

REQUEST_ID: Final = InPath(
    "requestID", "The name of the function.", "echo", {"pattern": PATTERN, "maxLength": 48}
)
INVOCATION_ID: Final = InPath(
    "invocationID", "The id of the invocation.", "order-4711", INVOCATION_ID_RULES
)


def path_request_id(request: web.Request) -> str:
    """The function in the path; one that cannot be is not found."""
    request_id = request.match_info["requestID"]
    if not is_request_id(request_id):
        raise NotFoundError("there is no function of this name, and none can have it")
    return request_id


def path_ids(request: web.Request) -> tuple[str, str]:
    """The function and the invocation in the path."""
    invocation_id = request.match_info["invocationID"]
    if not is_invocation_id(invocation_id):
        raise NotFoundError("there is no invocation of this id, and none can have it")
    return path_request_id(request), invocation_id
