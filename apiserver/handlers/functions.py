"""The routes of functions."""

from dataclasses import replace
from typing import Final

from aiohttp import hdrs, web

from apiserver import acceptance, envelope, keys, places
from apiserver.body import read_body
from apiserver.document import Answer, Body, documented
from apiserver.etag import if_match
from apiserver.examples import failures, functions
from apiserver.handlers.path_name import named, path_name
from apiserver.query import read_query, require_known
from apiserver.schemas.answers import PageMetaSchema
from apiserver.schemas.functions import (
    ChangeFunctionSchema,
    CreateFunctionSchema,
    FunctionAnswerSchema,
    FunctionListAnswerSchema,
    FunctionViewSchema,
)
from apiserver.schemas.invocation_queries import DeleteFunctionQuerySchema
from apiserver.schemas.jobs import JobAnswerSchema
from apiserver.schemas.queries import FunctionsQuerySchema
from shared.etag import etag
from shared.v1alpha1.function import Function

_TAG: Final = "functions"
_NAME: Final = named("function", "echo")
_VIEW: Final = FunctionViewSchema()
_CREATE: Final = CreateFunctionSchema()
_CHANGE: Final = ChangeFunctionSchema()
_LIST: Final = FunctionsQuerySchema()
_DELETE: Final = DeleteFunctionQuerySchema()


@documented(
    _TAG,
    "Make a function, whose workers follow its queue",
    Answer(201, "Made.", FunctionAnswerSchema, functions.FUNCTION, (hdrs.LOCATION,)),
    Answer(
        200,
        "The operation was done before; `deleted` where its function is gone since.",
        FunctionAnswerSchema,
        functions.FUNCTION,
        (hdrs.LOCATION,),
    ),
    Answer(202, "Not finished yet: see the job.", JobAnswerSchema, functions.JOB, (hdrs.LOCATION,)),
    *failures.BODY,
    failures.OPERATION_CONFLICT,
    failures.ALREADY_EXISTS,
    failures.CONFLICT,
    *failures.CLUSTER,
    body=Body(_CREATE, functions.CREATE),
)
async def create(request: web.Request) -> web.Response:
    """Make a function."""
    service = keys.service(request, keys.FUNCTIONS)
    command = await read_body(request, _CREATE)
    accepted = await request.app[keys.DETACHED].finish(service.create(command))
    return acceptance.made(accepted, _VIEW, places.function(command.name))


@documented(
    _TAG,
    "List functions",
    Answer(200, "A part of the list.", FunctionListAnswerSchema, functions.FUNCTIONS),
    failures.BAD_QUERY,
    failures.CONTINUE_EXPIRED,
    *failures.CLUSTER,
    query=_LIST,
)
async def index(request: web.Request) -> web.Response:
    """Show a part of the functions."""
    service = keys.service(request, keys.FUNCTIONS)
    page = await service.list(read_query(request, _LIST))
    return envelope.page(_VIEW.dump(page.items, many=True), PageMetaSchema().dump(page))


@documented(
    _TAG,
    "Show one function",
    Answer(200, "The function.", FunctionAnswerSchema, functions.FUNCTION, (hdrs.ETAG,)),
    failures.BAD_QUERY,
    failures.NOT_FOUND,
    *failures.CLUSTER,
    path=_NAME,
)
async def show(request: web.Request) -> web.Response:
    """Show a function."""
    service, name = keys.service(request, keys.FUNCTIONS), path_name(request)
    require_known(request)
    return _function(await service.get(name))


@documented(
    _TAG,
    "Change a function",
    Answer(
        200, "The function as it is now.", FunctionAnswerSchema, functions.FUNCTION, (hdrs.ETAG,)
    ),
    *failures.BODY,
    failures.NOT_FOUND,
    failures.CONFLICT,
    failures.PRECONDITION_FAILED,
    *failures.CLUSTER,
    path=_NAME,
    body=Body(_CHANGE, functions.CHANGE),
    conditional=True,
)
async def change(request: web.Request) -> web.Response:
    """Change what the request names of a function."""
    service, name = keys.service(request, keys.FUNCTIONS), path_name(request)
    given = await read_body(request, _CHANGE)
    command = replace(given, name=name, if_match=if_match(request))
    return _function(await request.app[keys.DETACHED].finish(service.change(command)))


@documented(
    _TAG,
    "Delete a function; its queued work is finished (drain) or cancelled (purge) first",
    Answer(204, "It is gone."),
    Answer(202, "Its work is being settled.", FunctionAnswerSchema, functions.FUNCTION),
    failures.BAD_QUERY,
    failures.NOT_FOUND,
    functions.HAS_WORK,
    *failures.CLUSTER,
    path=_NAME,
    query=_DELETE,
)
async def delete(request: web.Request) -> web.Response:
    """Delete a function."""
    service, name = keys.service(request, keys.FUNCTIONS), path_name(request)
    command = replace(read_query(request, _DELETE), name=name)
    left = await request.app[keys.DETACHED].finish(service.delete(command))
    return envelope.nothing() if left is None else _function(left, 202)


def _function(function: Function, status: int = 200) -> web.Response:
    headers = {hdrs.ETAG: etag(function.metadata)}
    return envelope.success(_VIEW.dump(function), status=status, headers=headers)
