"""The ids in the paths of invocations."""

from typing import Final

from aiohttp import web

from apiserver.errors import NotFoundError
from apiserver.http.openapi import PathParameter
from apiserver.invocations.fields import INVOCATION_ID_RULES
from shared.invocation.ids import FUNCTION_NAME_PATTERN, is_function_name, is_invocation_id

FUNCTION_PARAMETER: Final = PathParameter(
    "requestID",
    "The name of the function.",
    "echo",
    {"pattern": FUNCTION_NAME_PATTERN, "maxLength": 48},
)
INVOCATION_PARAMETER: Final = PathParameter(
    "invocationID", "The id of the invocation.", "order-4711", INVOCATION_ID_RULES
)


def path_function_name(request: web.Request) -> str:
    """The function in the path; one that cannot be is not found."""
    function_name = request.match_info["requestID"]
    if not is_function_name(function_name):
        raise NotFoundError("there is no function of this name, and none can have it")
    return function_name


def path_function_and_invocation(request: web.Request) -> tuple[str, str]:
    """The function and the invocation in the path."""
    invocation_id = request.match_info["invocationID"]
    if not is_invocation_id(invocation_id):
        raise NotFoundError("there is no invocation of this id, and none can have it")
    return path_function_name(request), invocation_id
