"""Names and operation ids in URL paths."""

from typing import Final

from aiohttp import web

from apiserver.errors import NotFoundError
from apiserver.http.openapi import PathParameter
from apiserver.schemas.names import NAME_RULES, OPERATION_ID_RULES, is_operation_id
from shared.k8s.name_syntax import is_dns_label

OPERATION_ID_PARAMETER: Final = PathParameter(
    "operationID",
    "The operationID that the caller chose; a / in it is encoded as %2F.",
    "order-4711",
    OPERATION_ID_RULES,
)


def name_parameter(object_kind: str, example: str) -> PathParameter:
    """Return the documentation of a name in the path."""
    return PathParameter("name", f"The name of the {object_kind}.", example, NAME_RULES)


def path_name(request: web.Request) -> str:
    """Return the name in the path; raises NotFoundError for an invalid name."""
    name = request.match_info["name"]
    if not is_dns_label(name):
        raise NotFoundError("no such object: the name in the path is not a valid name")
    return name


def path_operation_id(request: web.Request) -> str:
    """Return the operationID in the path; raises NotFoundError for an invalid id."""
    operation_id = request.match_info["operationID"]
    if not is_operation_id(operation_id):
        raise NotFoundError("no such job: the id in the path is not a valid operationID")
    return operation_id
