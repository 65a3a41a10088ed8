"""The routes of functions."""

from dataclasses import replace
from typing import Final

from aiohttp import hdrs, web

from apiserver.functions import examples
from apiserver.functions.schemas import (
    ChangeFunctionSchema,
    CreateFunctionSchema,
    DeleteFunctionQuerySchema,
    FunctionAnswerSchema,
    FunctionListAnswerSchema,
    FunctionsQuerySchema,
    FunctionViewSchema,
)
from apiserver.functions.service import FunctionService
from apiserver.http import failure_examples, keys, paths
from apiserver.http import responses as http_responses
from apiserver.http.body import read_json_body
from apiserver.http.etag import parse_if_match
from apiserver.http.openapi import JsonBodyDoc, ResponseDoc, documented
from apiserver.http.path_parameters import name_parameter, path_name
from apiserver.http.query import read_query, require_no_query
from apiserver.operations import responses as operations_responses
from apiserver.operations.schemas import JobAnswerSchema
from apiserver.schemas.response import PageMetaSchema
from shared.etag import make_etag
from shared.v1alpha1.function import Function

FUNCTIONS: Final = web.AppKey("functions", FunctionService)

_TAG: Final = "functions"
_NAME_PARAMETER: Final = name_parameter("function", "echo")
_VIEW_SCHEMA: Final = FunctionViewSchema()
_CREATE_SCHEMA: Final = CreateFunctionSchema()
_CHANGE_SCHEMA: Final = ChangeFunctionSchema()
_LIST_QUERY: Final = FunctionsQuerySchema()
_DELETE_QUERY: Final = DeleteFunctionQuerySchema()


@documented(
    _TAG,
    "Create a function, whose number of workers follows its queue",
    ResponseDoc(201, "Created.", FunctionAnswerSchema, examples.FUNCTION, (hdrs.LOCATION,)),
    ResponseDoc(
        200,
        "An earlier request created the function; `deleted` is true if it no longer exists.",
        FunctionAnswerSchema,
        examples.FUNCTION,
        (hdrs.LOCATION,),
    ),
    ResponseDoc(
        202,
        "Not finished yet; `Location` is the path of the job.",
        JobAnswerSchema,
        examples.JOB,
        (hdrs.LOCATION,),
    ),
    *failure_examples.BODY_FAILURES,
    failure_examples.OPERATION_CONFLICT,
    failure_examples.ALREADY_EXISTS,
    failure_examples.CONFLICT,
    *failure_examples.CLUSTER_FAILURES,
    body=JsonBodyDoc(_CREATE_SCHEMA, examples.CREATE),
)
async def create_function(request: web.Request) -> web.Response:
    """Create a function."""
    service = keys.required_service(request, FUNCTIONS)
    command = await read_json_body(request, _CREATE_SCHEMA)
    result = await request.app[keys.BACKGROUND_TASKS].finish(service.create(command))
    return operations_responses.created(result, _VIEW_SCHEMA, paths.function_path(command.name))


@documented(
    _TAG,
    "List functions",
    ResponseDoc(200, "One page of the list.", FunctionListAnswerSchema, examples.FUNCTIONS),
    failure_examples.BAD_QUERY,
    failure_examples.CONTINUE_EXPIRED,
    *failure_examples.CLUSTER_FAILURES,
    query=_LIST_QUERY,
)
async def list_functions(request: web.Request) -> web.Response:
    """Return one page of the functions."""
    service = keys.required_service(request, FUNCTIONS)
    page = await service.list(read_query(request, _LIST_QUERY))
    return http_responses.page(
        _VIEW_SCHEMA.dump(page.items, many=True), PageMetaSchema().dump(page)
    )


@documented(
    _TAG,
    "Show one function",
    ResponseDoc(200, "The function.", FunctionAnswerSchema, examples.FUNCTION, (hdrs.ETAG,)),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER_FAILURES,
    path=_NAME_PARAMETER,
)
async def get_function(request: web.Request) -> web.Response:
    """Return a function."""
    service, name = keys.required_service(request, FUNCTIONS), path_name(request)
    require_no_query(request)
    return _function_response(await service.get(name))


@documented(
    _TAG,
    "Change a function",
    ResponseDoc(
        200, "The changed function.", FunctionAnswerSchema, examples.FUNCTION, (hdrs.ETAG,)
    ),
    *failure_examples.BODY_FAILURES,
    failure_examples.NOT_FOUND,
    failure_examples.CONFLICT,
    failure_examples.PRECONDITION_FAILED,
    *failure_examples.CLUSTER_FAILURES,
    path=_NAME_PARAMETER,
    body=JsonBodyDoc(_CHANGE_SCHEMA, examples.CHANGE),
    conditional=True,
)
async def change_function(request: web.Request) -> web.Response:
    """Change the given fields of a function."""
    service, name = keys.required_service(request, FUNCTIONS), path_name(request)
    changes = await read_json_body(request, _CHANGE_SCHEMA)
    command = replace(changes, name=name, if_match=parse_if_match(request))
    return _function_response(
        await request.app[keys.BACKGROUND_TASKS].finish(service.change(command))
    )


@documented(
    _TAG,
    "Delete a function; its queued work is finished (drain) or cancelled (purge) first",
    ResponseDoc(204, "It is deleted."),
    ResponseDoc(
        202,
        "It is being deleted, while its work is finished or cancelled.",
        FunctionAnswerSchema,
        examples.FUNCTION,
    ),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    examples.FUNCTION_BUSY,
    *failure_examples.CLUSTER_FAILURES,
    path=_NAME_PARAMETER,
    query=_DELETE_QUERY,
)
async def delete_function(request: web.Request) -> web.Response:
    """Delete a function."""
    service, name = keys.required_service(request, FUNCTIONS), path_name(request)
    command = replace(read_query(request, _DELETE_QUERY), name=name)
    function = await request.app[keys.BACKGROUND_TASKS].finish(service.delete(command))
    return http_responses.no_content() if function is None else _function_response(function, 202)


def _function_response(function: Function, status: int = 200) -> web.Response:
    headers = {hdrs.ETAG: make_etag(function.metadata)}
    return http_responses.success(_VIEW_SCHEMA.dump(function), status=status, headers=headers)
