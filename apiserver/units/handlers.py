"""The routes of users' units."""

from dataclasses import replace
from functools import cache
from typing import Final

from aiohttp import hdrs, web

from apiserver.http import failure_examples, keys, paths
from apiserver.http import responses as http_responses
from apiserver.http.body import read_body
from apiserver.http.deadline import DEADLINE
from apiserver.http.etag import if_match
from apiserver.http.openapi import Answer, Body, documented
from apiserver.http.path_parameters import named, path_name
from apiserver.http.query import read_query, require_known
from apiserver.operations import responses as operations_responses
from apiserver.operations.schemas import JobAnswerSchema
from apiserver.schemas.queries import UnitsQuerySchema, WaitQuerySchema
from apiserver.schemas.response import PageMetaSchema
from apiserver.units import examples
from apiserver.units.list_view import listed_unit
from apiserver.units.schemas import ChangeUnitSchema, CreateUnitSchema
from apiserver.units.views import GPUUnitAnswerSchema, GPUUnitListAnswerSchema, GPUUnitViewSchema
from shared.etag import etag
from shared.v1alpha1.gpuunit import GPUUnit

_TAG: Final = "gpu units"
# Schemas are made once: that takes longer than to read or write with them.
_VIEW: Final = GPUUnitViewSchema()
_LIST: Final = UnitsQuerySchema()
_WAIT: Final = WaitQuerySchema()
_META: Final = PageMetaSchema()
_CHANGE: Final = ChangeUnitSchema()
_create: Final = cache(CreateUnitSchema)
_NAME: Final = named("unit", "trainer")


@documented(
    _TAG,
    "Turn one ready stock unit into a user's unit",
    Answer(201, "Made.", GPUUnitAnswerSchema, examples.UNIT, (hdrs.LOCATION,)),
    Answer(
        200,
        "The operation was done before; `deleted` where its unit is gone since.",
        GPUUnitAnswerSchema,
        examples.UNIT,
        (hdrs.LOCATION,),
    ),
    Answer(202, "Not finished yet: see the job.", JobAnswerSchema, examples.JOB, (hdrs.LOCATION,)),
    *failure_examples.BODY,
    failure_examples.OPERATION_CONFLICT,
    failure_examples.ALREADY_EXISTS,
    failure_examples.INSUFFICIENT_CAPACITY,
    failure_examples.CONFLICT,
    *failure_examples.CLUSTER,
    body=Body(CreateUnitSchema(), examples.CREATE),
)
async def create(request: web.Request) -> web.Response:
    """Make a unit of stock."""
    service = keys.service(request, keys.UNITS)
    command = await read_body(request, _create(request.app[keys.LIMITS]))
    accepted = await request.app[keys.DETACHED].finish(service.create(command))
    return operations_responses.made(accepted, _VIEW, paths.unit(command.name))


@documented(
    _TAG,
    "List users' units",
    Answer(200, "A part of the list.", GPUUnitListAnswerSchema, examples.UNITS),
    failure_examples.BAD_QUERY,
    failure_examples.CONTINUE_EXPIRED,
    *failure_examples.CLUSTER,
    query=_LIST,
)
async def index(request: web.Request) -> web.Response:
    """Show a part of the units."""
    service = keys.service(request, keys.UNITS)
    page = await service.list(read_query(request, _LIST))
    return http_responses.page([listed_unit(each) for each in page.items], _META.dump(page))


@documented(
    _TAG,
    "Show one unit, if wanted only once it is Ready or Failed",
    Answer(200, "The unit.", GPUUnitAnswerSchema, examples.UNIT, (hdrs.ETAG,)),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER,
    query=_WAIT,
    path=_NAME,
)
async def show(request: web.Request) -> web.Response:
    """Show a unit, at once or when it is settled."""
    service, name = keys.service(request, keys.UNITS), path_name(request)
    seconds = read_query(request, _WAIT)
    if seconds is None:
        return _unit(await service.get(name))
    request[DEADLINE].allow(seconds)
    settled = await request.app[keys.WAITS].until_stop(service.wait_ready(name, seconds))
    return _unit(settled or await service.get(name))


@documented(
    _TAG,
    "Change a unit",
    Answer(200, "The unit as it is now.", GPUUnitAnswerSchema, examples.UNIT, (hdrs.ETAG,)),
    *failure_examples.BODY,
    failure_examples.NOT_FOUND,
    failure_examples.CONFLICT,
    failure_examples.PRECONDITION_FAILED,
    *failure_examples.CLUSTER,
    body=Body(_CHANGE, examples.CHANGE),
    path=_NAME,
    conditional=True,
)
async def change(request: web.Request) -> web.Response:
    """Change what the request names of a unit."""
    service, name = keys.service(request, keys.UNITS), path_name(request)
    given = await read_body(request, _CHANGE)
    command = replace(given, name=name, if_match=if_match(request))
    return _unit(await request.app[keys.DETACHED].finish(service.change(command)))


@documented(
    _TAG,
    "Delete a unit",
    Answer(204, "It is gone, or on its way."),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    failure_examples.PRECONDITION_FAILED,
    *failure_examples.CLUSTER,
    path=_NAME,
    conditional=True,
)
async def delete(request: web.Request) -> web.Response:
    """Delete a unit."""
    service, name = keys.service(request, keys.UNITS), path_name(request)
    require_known(request)
    await request.app[keys.DETACHED].finish(service.delete(name, if_match(request)))
    return http_responses.nothing()


def _unit(unit: GPUUnit) -> web.Response:
    headers = {hdrs.ETAG: etag(unit.metadata)}
    return http_responses.success(_VIEW.dump(unit), headers=headers)
