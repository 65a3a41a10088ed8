"""The routes of invocations."""

from dataclasses import replace
from typing import Final

from aiohttp import hdrs, web

from apiserver.errors import NotFoundError
from apiserver.http import failure_examples, keys, paths, responses
from apiserver.http.body import body_time_limit, iter_chunks, read_json_body
from apiserver.http.deadline import DEADLINE
from apiserver.http.openapi import JsonBodyDoc, PathParameter, RawBodyDoc, ResponseDoc, documented
from apiserver.http.query import read_query, require_no_query
from apiserver.invocations import examples
from apiserver.invocations.accept import InvocationAcceptor
from apiserver.invocations.commands import Invocation
from apiserver.invocations.fields import INVOCATION_ID_RULES, is_content_type
from apiserver.invocations.lists import InvocationLists
from apiserver.invocations.schemas import (
    BINARY_CONTENT_TYPE,
    DeadLettersQuerySchema,
    InvocationsQuerySchema,
    InvokeQuerySchema,
    InvokeSchema,
    WaitFinalQuerySchema,
)
from apiserver.invocations.service import InvocationService, stream_bytes
from apiserver.invocations.submission import Submission
from apiserver.invocations.views import (
    DeadLetterListAnswerSchema,
    InvocationAnswerSchema,
    InvocationListAnswerSchema,
    dead_letter_view,
    invocation_view,
)
from apiserver.schemas.response import PageMetaSchema
from shared.invocation.ids import FUNCTION_NAME_PATTERN, is_function_name, is_invocation_id
from shared.invocation.limits import MAX_PAYLOAD_BYTES

INVOCATIONS: Final = web.AppKey("invocations", InvocationService)
INVOCATION_ACCEPTOR: Final = web.AppKey("invocation_acceptor", InvocationAcceptor)
INVOCATION_LISTS: Final = web.AppKey("invocation_index", InvocationLists)
MAX_BODY_BYTES: Final = 1024 * 1024
FUNCTION_PARAMETER: Final = PathParameter(
    "requestID",
    "The name of the function.",
    "echo",
    {"pattern": FUNCTION_NAME_PATTERN, "maxLength": 48},
)
INVOCATION_PARAMETER: Final = PathParameter(
    "invocationID", "The id of the invocation.", "order-4711", INVOCATION_ID_RULES
)

_TAG: Final = "invocations"
_INVOKE_SCHEMA: Final = InvokeSchema()
_INVOKE_RAW_QUERY: Final = InvokeQuerySchema()
_LIST_QUERY: Final = InvocationsQuerySchema()
_DEAD_LETTERS_QUERY: Final = DeadLettersQuerySchema()
_WAIT_QUERY: Final = WaitFinalQuerySchema()
_META_SCHEMA: Final = PageMetaSchema()
_ACCEPT_RESPONSES: Final = (
    ResponseDoc(202, "Accepted.", InvocationAnswerSchema, examples.QUEUED, (hdrs.LOCATION,)),
    ResponseDoc(
        200,
        "The outcome of a sync call, or the state of an invocation that was accepted before.",
        InvocationAnswerSchema,
        examples.SUCCEEDED,
        (hdrs.LOCATION,),
    ),
)


@documented(
    _TAG,
    "Call a function, and wait for the outcome (sync) or not (async)",
    *_ACCEPT_RESPONSES,
    *failure_examples.BODY_FAILURES,
    failure_examples.NOT_FOUND,
    examples.INVOCATION_CONFLICT,
    examples.QUEUE_FULL,
    *failure_examples.CLUSTER_FAILURES,
    body=JsonBodyDoc(_INVOKE_SCHEMA, examples.INVOKE),
)
async def invoke_function(request: web.Request) -> web.Response:
    """Accept an invocation whose payload is in the body."""
    acceptor = keys.required_service(request, INVOCATION_ACCEPTOR)
    invoke = await read_json_body(request, _INVOKE_SCHEMA, MAX_BODY_BYTES)
    submission = await acceptor.receive_payload(invoke.command, stream_bytes(invoke.payload))
    return await _accept(request, acceptor, submission)


@documented(
    _TAG,
    "Call a function with the request body as the payload, of any type and up to 64 MiB",
    *_ACCEPT_RESPONSES,
    *failure_examples.RAW_BODY_FAILURES,
    failure_examples.NOT_FOUND,
    examples.INVOCATION_CONFLICT,
    examples.QUEUE_FULL,
    *failure_examples.CLUSTER_FAILURES,
    query=_INVOKE_RAW_QUERY,
    path=(FUNCTION_PARAMETER,),
    body=RawBodyDoc((BINARY_CONTENT_TYPE, "application/json", "text/plain")),
)
async def invoke_function_raw(request: web.Request) -> web.Response:
    """Accept an invocation whose payload is the body itself."""
    acceptor = keys.required_service(request, INVOCATION_ACCEPTOR)
    function_name = path_function_name(request)
    command = replace(
        read_query(request, _INVOKE_RAW_QUERY),
        function_name=function_name,
        content_type=_payload_content_type(request),
    )
    size = request.content_length
    with request.app[keys.BYTE_BUDGET].reserve(MAX_PAYLOAD_BYTES if size is None else size):
        async with body_time_limit(request):
            payload = iter_chunks(request, MAX_PAYLOAD_BYTES)
            submission = await acceptor.receive_payload(command, payload)
    return await _accept(request, acceptor, submission)


@documented(
    _TAG,
    "Show one invocation; with `wait`, once it is final",
    ResponseDoc(200, "The invocation.", InvocationAnswerSchema, examples.SUCCEEDED),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER_FAILURES,
    query=_WAIT_QUERY,
    path=(FUNCTION_PARAMETER, INVOCATION_PARAMETER),
)
async def get_invocation(request: web.Request) -> web.Response:
    """Return an invocation, at once or when it is final."""
    service, ids = (
        keys.required_service(request, INVOCATIONS),
        path_function_and_invocation(request),
    )
    seconds = read_query(request, _WAIT_QUERY)
    invocation = await service.get(*ids)
    if seconds is not None and not invocation.record.is_final:
        invocation = await _wait_final(request, invocation, seconds)
    return responses.success(invocation_view(invocation))


@documented(
    _TAG,
    "Cancel an invocation",
    ResponseDoc(200, "It was queued and is cancelled.", InvocationAnswerSchema, examples.CANCELLED),
    ResponseDoc(
        202,
        "It is running; its worker is notified, and its result is discarded.",
        InvocationAnswerSchema,
        examples.CANCELLING,
    ),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    examples.ALREADY_FINAL,
    *failure_examples.CLUSTER_FAILURES,
    path=(FUNCTION_PARAMETER, INVOCATION_PARAMETER),
)
async def cancel_invocation(request: web.Request) -> web.Response:
    """Cancel an invocation."""
    service, ids = (
        keys.required_service(request, INVOCATIONS),
        path_function_and_invocation(request),
    )
    require_no_query(request)
    invocation = await request.app[keys.BACKGROUND_TASKS].finish(service.cancel(*ids))
    status = 200 if invocation.record.is_final else 202
    return responses.success(invocation_view(invocation), status=status)


@documented(
    _TAG,
    "Send a final invocation again, with new attempts",
    ResponseDoc(202, "A new run is queued.", InvocationAnswerSchema, examples.REDRIVEN),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    examples.NOT_FINAL,
    *failure_examples.CLUSTER_FAILURES,
    path=(FUNCTION_PARAMETER, INVOCATION_PARAMETER),
)
async def redrive_invocation(request: web.Request) -> web.Response:
    """Start a new run of an invocation."""
    service, ids = (
        keys.required_service(request, INVOCATIONS),
        path_function_and_invocation(request),
    )
    require_no_query(request)
    invocation = await request.app[keys.BACKGROUND_TASKS].finish(service.redrive(*ids))
    return responses.success(invocation_view(invocation), status=202)


@documented(
    _TAG,
    "List invocations by their last change, newest first",
    ResponseDoc(
        200,
        "One page of the list; a short or empty page can still have a next page.",
        InvocationListAnswerSchema,
        examples.INVOCATIONS,
    ),
    failure_examples.BAD_QUERY,
    *failure_examples.CLUSTER_FAILURES,
    query=_LIST_QUERY,
)
async def list_invocations(request: web.Request) -> web.Response:
    """Return one page of the invocations."""
    service = keys.required_service(request, INVOCATION_LISTS)
    page = await service.list_invocations(read_query(request, _LIST_QUERY))
    return responses.page([invocation_view(item) for item in page.items], _META_SCHEMA.dump(page))


@documented(
    _TAG,
    "List dead letters, newest first",
    ResponseDoc(200, "One page of the list.", DeadLetterListAnswerSchema, examples.DEAD_LETTERS),
    failure_examples.BAD_QUERY,
    *failure_examples.CLUSTER_FAILURES,
    query=_DEAD_LETTERS_QUERY,
)
async def list_dead_letters(request: web.Request) -> web.Response:
    """Return one page of the dead letters."""
    service = keys.required_service(request, INVOCATION_LISTS)
    page = await service.list_dead_letters(read_query(request, _DEAD_LETTERS_QUERY))
    return responses.page([dead_letter_view(item) for item in page.items], _META_SCHEMA.dump(page))


async def _accept(
    request: web.Request, acceptor: InvocationAcceptor, submission: Submission
) -> web.Response:
    """Accept the invocation even if the caller disconnects; only the wait ends with it."""
    acceptance = await request.app[keys.BACKGROUND_TASKS].finish(acceptor.accept(submission))
    invocation, seconds = acceptance.invocation, submission.command.wait_seconds
    status = 202 if acceptance.is_new else 200
    if seconds is not None:
        invocation = await _wait_final(request, invocation, seconds)
        status = 200 if invocation.record.is_final else 202
    path = paths.invocation_path(invocation.function_name, invocation.invocation_id)
    headers = {hdrs.LOCATION: path}
    return responses.success(invocation_view(invocation), status=status, headers=headers)


async def _wait_final(request: web.Request, invocation: Invocation, seconds: int) -> Invocation:
    """Return the invocation once it is final, at the timeout, or when the process stops."""
    service = keys.required_service(request, INVOCATIONS)
    request[DEADLINE].restart(seconds)
    waiting = service.wait_final(invocation, seconds)
    return await request.app[keys.LONG_POLLS].run_until_stop(waiting) or invocation


def _payload_content_type(request: web.Request) -> str:
    """Return the media type of the body; application/octet-stream for an invalid one."""
    content_type = request.headers.get(hdrs.CONTENT_TYPE, "")
    return content_type if is_content_type(content_type) else BINARY_CONTENT_TYPE


def path_function_name(request: web.Request) -> str:
    """Return the function name in the path; NotFoundError for an invalid name."""
    function_name = request.match_info["requestID"]
    if not is_function_name(function_name):
        raise NotFoundError("no such function: the name in the path is not a function name")
    return function_name


def path_function_and_invocation(request: web.Request) -> tuple[str, str]:
    """Return the function name and the invocation id in the path; NotFoundError."""
    invocation_id = request.match_info["invocationID"]
    if not is_invocation_id(invocation_id):
        raise NotFoundError("no such invocation: the id in the path is not an invocationID")
    return path_function_name(request), invocation_id
