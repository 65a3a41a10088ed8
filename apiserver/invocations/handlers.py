"""The routes of invocations."""

from dataclasses import replace
from typing import Final

from aiohttp import hdrs, web

from apiserver.http import failure_examples, keys, paths, responses
from apiserver.http.body import chunks, read_body, receiving
from apiserver.http.deadline import DEADLINE
from apiserver.http.openapi import Answer, Body, RawBody, documented
from apiserver.http.query import read_query, require_known
from apiserver.invocations import examples
from apiserver.invocations.commands import Invocation
from apiserver.invocations.fields import is_content_type
from apiserver.invocations.invocation_path import (
    INVOCATION_ID,
    REQUEST_ID,
    path_ids,
    path_request_id,
)
from apiserver.invocations.invocation_queries import (
    DeadLettersQuerySchema,
    InvocationsQuerySchema,
    InvokeQuerySchema,
    WaitFinalQuerySchema,
)
from apiserver.invocations.port import Invocations
from apiserver.invocations.schemas import BINARY, InvokeSchema
from apiserver.invocations.service import once
from apiserver.invocations.submission import Submission
from apiserver.invocations.views import (
    DeadLetterListAnswerSchema,
    InvocationAnswerSchema,
    InvocationListAnswerSchema,
    dead_letter_view,
    invocation_view,
)
from apiserver.schemas.response import PageMetaSchema
from shared.invocation.limits import MAX_PAYLOAD_BYTES

LARGEST: Final = 1024 * 1024

_TAG: Final = "invocations"
_INVOKE: Final = InvokeSchema()
_RAW: Final = InvokeQuerySchema()
_LIST: Final = InvocationsQuerySchema()
_LETTERS: Final = DeadLettersQuerySchema()
_WAIT: Final = WaitFinalQuerySchema()
_META: Final = PageMetaSchema()
_ACCEPTED: Final = (
    Answer(202, "Accepted.", InvocationAnswerSchema, examples.QUEUED, (hdrs.LOCATION,)),
    Answer(
        200,
        "The outcome of a sync call, or how far an invocation is that was accepted before.",
        InvocationAnswerSchema,
        examples.SUCCEEDED,
        (hdrs.LOCATION,),
    ),
)


@documented(
    _TAG,
    "Call a function, now (sync) or whenever it has a worker (async)",
    *_ACCEPTED,
    *failure_examples.BODY,
    failure_examples.NOT_FOUND,
    examples.OTHER_PAYLOAD,
    examples.QUEUE_FULL,
    *failure_examples.CLUSTER,
    body=Body(_INVOKE, examples.INVOKE),
)
async def invoke(request: web.Request) -> web.Response:
    """Accept an invocation whose payload is in the body."""
    service = keys.service(request, keys.INVOCATIONS)
    given = await read_body(request, _INVOKE, LARGEST)
    submission = await service.receive(given.command, once(given.payload))
    return await _accepted(request, service, submission)


@documented(
    _TAG,
    "Call a function with the body as it is, of any type and up to 64 MiB",
    *_ACCEPTED,
    *failure_examples.RAW_BODY,
    failure_examples.NOT_FOUND,
    examples.OTHER_PAYLOAD,
    examples.QUEUE_FULL,
    *failure_examples.CLUSTER,
    query=_RAW,
    path=(REQUEST_ID,),
    body=RawBody((BINARY, "application/json", "text/plain")),
)
async def invoke_raw(request: web.Request) -> web.Response:
    """Accept an invocation whose payload is the body itself."""
    service, request_id = keys.service(request, keys.INVOCATIONS), path_request_id(request)
    given = read_query(request, _RAW)
    command = replace(given, request_id=request_id, content_type=_content_type(request))
    size = request.content_length
    with request.app[keys.IN_FLIGHT].reserved(MAX_PAYLOAD_BYTES if size is None else size):
        async with receiving(request):
            payload = chunks(request, MAX_PAYLOAD_BYTES)
            submission = await service.receive(command, payload)
    return await _accepted(request, service, submission)


@documented(
    _TAG,
    "Show one invocation, if wanted only once it is final",
    Answer(200, "The invocation.", InvocationAnswerSchema, examples.SUCCEEDED),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER,
    query=_WAIT,
    path=(REQUEST_ID, INVOCATION_ID),
)
async def show(request: web.Request) -> web.Response:
    """Show an invocation, at once or when it is final."""
    service, ids = keys.service(request, keys.INVOCATIONS), path_ids(request)
    seconds = read_query(request, _WAIT)
    found = await service.get(*ids)
    if seconds is not None and not found.record.is_final:
        found = await _waited(request, service, found, seconds)
    return responses.success(invocation_view(found))


@documented(
    _TAG,
    "Cancel an invocation",
    Answer(200, "It was queued, and is cancelled.", InvocationAnswerSchema, examples.CANCELLED),
    Answer(
        202,
        "It runs; its worker is told, and its result is not wanted.",
        InvocationAnswerSchema,
        examples.CANCELLING,
    ),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    examples.ALREADY_FINAL,
    *failure_examples.CLUSTER,
    path=(REQUEST_ID, INVOCATION_ID),
)
async def cancel(request: web.Request) -> web.Response:
    """Cancel an invocation."""
    service, ids = keys.service(request, keys.INVOCATIONS), path_ids(request)
    require_known(request)
    found = await request.app[keys.DETACHED].finish(service.cancel(*ids))
    status = 200 if found.record.is_final else 202
    return responses.success(invocation_view(found), status=status)


@documented(
    _TAG,
    "Send a final invocation again, with new attempts",
    Answer(202, "A new run is queued.", InvocationAnswerSchema, examples.REDRIVEN),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    examples.NOT_FINAL,
    *failure_examples.CLUSTER,
    path=(REQUEST_ID, INVOCATION_ID),
)
async def redrive(request: web.Request) -> web.Response:
    """Begin a new run."""
    service, ids = keys.service(request, keys.INVOCATIONS), path_ids(request)
    require_known(request)
    found = await request.app[keys.DETACHED].finish(service.redrive(*ids))
    return responses.success(invocation_view(found), status=202)


@documented(
    _TAG,
    "List invocations by their last change, newest first",
    Answer(
        200,
        "A part of the list; it may be short, or empty, and still have a next one.",
        InvocationListAnswerSchema,
        examples.INVOCATIONS,
    ),
    failure_examples.BAD_QUERY,
    *failure_examples.CLUSTER,
    query=_LIST,
)
async def index(request: web.Request) -> web.Response:
    """Show a part of the invocations."""
    service = keys.service(request, keys.INVOCATION_INDEX)
    page = await service.invocations(read_query(request, _LIST))
    return responses.page([invocation_view(each) for each in page.items], _META.dump(page))


@documented(
    _TAG,
    "List dead letters, newest first",
    Answer(200, "A part of the list.", DeadLetterListAnswerSchema, examples.DEAD_LETTERS),
    failure_examples.BAD_QUERY,
    *failure_examples.CLUSTER,
    query=_LETTERS,
)
async def dead_letters(request: web.Request) -> web.Response:
    """Show a part of the dead letters."""
    service = keys.service(request, keys.INVOCATION_INDEX)
    page = await service.dead_letters(read_query(request, _LETTERS))
    return responses.page([dead_letter_view(each) for each in page.items], _META.dump(page))


async def _accepted(
    request: web.Request, service: Invocations, submission: Submission
) -> web.Response:
    """Accepted is accepted, also where the caller has gone; only the waiting ends with it."""
    acceptance = await request.app[keys.DETACHED].finish(service.accept(submission))
    found, seconds = acceptance.invocation, submission.command.wait_seconds
    status = 202 if acceptance.is_new else 200
    if seconds is not None:
        found = await _waited(request, service, found, seconds)
        status = 200 if found.record.is_final else 202
    place = paths.invocation(found.request_id, found.invocation_id)
    return responses.success(invocation_view(found), status=status, headers={hdrs.LOCATION: place})


async def _waited(
    request: web.Request, service: Invocations, invocation: Invocation, seconds: int
) -> Invocation:
    """The invocation once it is final, or as it is when time is up or the process stops."""
    request[DEADLINE].allow(seconds)
    waiting = service.wait_final(invocation, seconds)
    return await request.app[keys.WAITS].until_stop(waiting) or invocation


def _content_type(request: web.Request) -> str:
    """What the caller says the body is; a type that cannot be is not passed on."""
    given = request.headers.get(hdrs.CONTENT_TYPE, "")
    return given if is_content_type(given) else BINARY
