"""The routes of users' units."""

from dataclasses import replace
from functools import cache
from typing import Final

from aiohttp import hdrs, web

from apiserver import acceptance, envelope, keys, places
from apiserver.body import read_body
from apiserver.deadline import DEADLINE
from apiserver.document import Answer, Body, documented
from apiserver.etag import if_match
from apiserver.examples import failures, units
from apiserver.handlers.path_name import named, path_name
from apiserver.query import read_query, require_known
from apiserver.schemas.answers import PageMetaSchema
from apiserver.schemas.gpu_unit_views import (
    GPUUnitAnswerSchema,
    GPUUnitListAnswerSchema,
    GPUUnitViewSchema,
)
from apiserver.schemas.gpu_units import ChangeUnitSchema, CreateUnitSchema
from apiserver.schemas.jobs import JobAnswerSchema
from apiserver.schemas.listed_unit import listed_unit
from apiserver.schemas.queries import UnitsQuerySchema, WaitQuerySchema
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
    Answer(201, "Made.", GPUUnitAnswerSchema, units.UNIT, (hdrs.LOCATION,)),
    Answer(
        200,
        "The operation was done before; `deleted` where its unit is gone since.",
        GPUUnitAnswerSchema,
        units.UNIT,
        (hdrs.LOCATION,),
    ),
    Answer(202, "Not finished yet: see the job.", JobAnswerSchema, units.JOB, (hdrs.LOCATION,)),
    *failures.BODY,
    failures.OPERATION_CONFLICT,
    failures.ALREADY_EXISTS,
    failures.INSUFFICIENT_CAPACITY,
    failures.CONFLICT,
    *failures.CLUSTER,
    body=Body(CreateUnitSchema(), units.CREATE),
)
async def create(request: web.Request) -> web.Response:
    """Make a unit of stock."""
    service = keys.service(request, keys.UNITS)
    command = await read_body(request, _create(request.app[keys.LIMITS]))
    accepted = await request.app[keys.DETACHED].finish(service.create(command))
    return acceptance.made(accepted, _VIEW, places.unit(command.name))


@documented(
    _TAG,
    "List users' units",
    Answer(200, "A part of the list.", GPUUnitListAnswerSchema, units.UNITS),
    failures.BAD_QUERY,
    failures.CONTINUE_EXPIRED,
    *failures.CLUSTER,
    query=_LIST,
)
async def index(request: web.Request) -> web.Response:
    """Show a part of the units."""
    service = keys.service(request, keys.UNITS)
    page = await service.list(read_query(request, _LIST))
    return envelope.page([listed_unit(each) for each in page.items], _META.dump(page))


@documented(
    _TAG,
    "Show one unit, if wanted only once it is Ready or Failed",
    Answer(200, "The unit.", GPUUnitAnswerSchema, units.UNIT, (hdrs.ETAG,)),
    failures.BAD_QUERY,
    failures.NOT_FOUND,
    *failures.CLUSTER,
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
    Answer(200, "The unit as it is now.", GPUUnitAnswerSchema, units.UNIT, (hdrs.ETAG,)),
    *failures.BODY,
    failures.NOT_FOUND,
    failures.CONFLICT,
    failures.PRECONDITION_FAILED,
    *failures.CLUSTER,
    body=Body(_CHANGE, units.CHANGE),
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
    failures.BAD_QUERY,
    failures.NOT_FOUND,
    failures.PRECONDITION_FAILED,
    *failures.CLUSTER,
    path=_NAME,
    conditional=True,
)
async def delete(request: web.Request) -> web.Response:
    """Delete a unit."""
    service, name = keys.service(request, keys.UNITS), path_name(request)
    require_known(request)
    await request.app[keys.DETACHED].finish(service.delete(name, if_match(request)))
    return envelope.nothing()


def _unit(unit: GPUUnit) -> web.Response:
    headers = {hdrs.ETAG: etag(unit.metadata)}
    return envelope.success(_VIEW.dump(unit), headers=headers)
