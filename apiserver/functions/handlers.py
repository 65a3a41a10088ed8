"""The routes of functions."""

from dataclasses import replace
from typing import Final

from aiohttp import hdrs, web

from apiserver.functions import examples
from apiserver.functions.schemas import (
    ChangeFunctionSchema,
    CreateFunctionSchema,
    FunctionAnswerSchema,
    FunctionListAnswerSchema,
    FunctionViewSchema,
)
from apiserver.http import failure_examples, keys, paths
from apiserver.http import responses as http_responses
from apiserver.http.body import read_body
from apiserver.http.etag import if_match
from apiserver.http.openapi import Answer, Body, documented
from apiserver.http.path_parameters import named, path_name
from apiserver.http.query import read_query, require_known
from apiserver.invocations.invocation_queries import DeleteFunctionQuerySchema
from apiserver.operations import responses as operations_responses
from apiserver.operations.schemas import JobAnswerSchema
from apiserver.schemas.queries import FunctionsQuerySchema
from apiserver.schemas.response import PageMetaSchema
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
    Answer(201, "Made.", FunctionAnswerSchema, examples.FUNCTION, (hdrs.LOCATION,)),
    Answer(
        200,
        "The operation was done before; `deleted` where its function is gone since.",
        FunctionAnswerSchema,
        examples.FUNCTION,
        (hdrs.LOCATION,),
    ),
    Answer(202, "Not finished yet: see the job.", JobAnswerSchema, examples.JOB, (hdrs.LOCATION,)),
    *failure_examples.BODY,
    failure_examples.OPERATION_CONFLICT,
    failure_examples.ALREADY_EXISTS,
    failure_examples.CONFLICT,
    *failure_examples.CLUSTER,
    body=Body(_CREATE, examples.CREATE),
)
async def create(request: web.Request) -> web.Response:
    """Make a function."""
    service = keys.service(request, keys.FUNCTIONS)
    command = await read_body(request, _CREATE)
    accepted = await request.app[keys.DETACHED].finish(service.create(command))
    return operations_responses.made(accepted, _VIEW, paths.function(command.name))


@documented(
    _TAG,
    "List functions",
    Answer(200, "A part of the list.", FunctionListAnswerSchema, examples.FUNCTIONS),
    failure_examples.BAD_QUERY,
    failure_examples.CONTINUE_EXPIRED,
    *failure_examples.CLUSTER,
    query=_LIST,
)
async def index(request: web.Request) -> web.Response:
    """Show a part of the functions."""
    service = keys.service(request, keys.FUNCTIONS)
    page = await service.list(read_query(request, _LIST))
    return http_responses.page(_VIEW.dump(page.items, many=True), PageMetaSchema().dump(page))


@documented(
    _TAG,
    "Show one function",
    Answer(200, "The function.", FunctionAnswerSchema, examples.FUNCTION, (hdrs.ETAG,)),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER,
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
        200, "The function as it is now.", FunctionAnswerSchema, examples.FUNCTION, (hdrs.ETAG,)
    ),
    *failure_examples.BODY,
    failure_examples.NOT_FOUND,
    failure_examples.CONFLICT,
    failure_examples.PRECONDITION_FAILED,
    *failure_examples.CLUSTER,
    path=_NAME,
    body=Body(_CHANGE, examples.CHANGE),
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
    Answer(202, "Its work is being settled.", FunctionAnswerSchema, examples.FUNCTION),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    examples.HAS_WORK,
    *failure_examples.CLUSTER,
    path=_NAME,
    query=_DELETE,
)
async def delete(request: web.Request) -> web.Response:
    """Delete a function."""
    service, name = keys.service(request, keys.FUNCTIONS), path_name(request)
    command = replace(read_query(request, _DELETE), name=name)
    left = await request.app[keys.DETACHED].finish(service.delete(command))
    return http_responses.nothing() if left is None else _function(left, 202)


def _function(function: Function, status: int = 200) -> web.Response:
    headers = {hdrs.ETAG: etag(function.metadata)}
    return http_responses.success(_VIEW.dump(function), status=status, headers=headers)
