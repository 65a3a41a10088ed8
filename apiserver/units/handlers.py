"""The routes of users' units."""

from dataclasses import replace
from functools import cache
from typing import Final

from aiohttp import hdrs, web

from apiserver.http import failure_examples, keys, paths
from apiserver.http import responses as http_responses
from apiserver.http.body import read_json_body
from apiserver.http.deadline import DEADLINE
from apiserver.http.etag import parse_if_match
from apiserver.http.openapi import JsonBodyDoc, ResponseDoc, documented
from apiserver.http.path_parameters import name_parameter, path_name
from apiserver.http.query import read_query, require_no_query
from apiserver.operations import responses as operations_responses
from apiserver.operations.schemas import JobAnswerSchema
from apiserver.schemas.response import PageMetaSchema
from apiserver.units import examples
from apiserver.units.list_view import listed_unit
from apiserver.units.schemas import (
    ChangeUnitSchema,
    CreateUnitSchema,
    UnitsQuerySchema,
    WaitReadyQuerySchema,
)
from apiserver.units.service import UnitService
from apiserver.units.views import GPUUnitAnswerSchema, GPUUnitListAnswerSchema, GPUUnitViewSchema
from shared.etag import make_etag
from shared.v1alpha1.gpuunit import GPUUnit

UNITS: Final = web.AppKey("units", UnitService)

_TAG: Final = "gpu units"
# Each schema is created once, because creating one takes longer than using it.
_VIEW_SCHEMA: Final = GPUUnitViewSchema()
_LIST_QUERY: Final = UnitsQuerySchema()
_WAIT_QUERY: Final = WaitReadyQuerySchema()
_META_SCHEMA: Final = PageMetaSchema()
_CHANGE_SCHEMA: Final = ChangeUnitSchema()
_create_schema: Final = cache(CreateUnitSchema)
_NAME_PARAMETER: Final = name_parameter("unit", "trainer")


@documented(
    _TAG,
    "Create a unit from a ready stock unit",
    ResponseDoc(201, "Created.", GPUUnitAnswerSchema, examples.UNIT, (hdrs.LOCATION,)),
    ResponseDoc(
        200,
        "An earlier request created the unit; `deleted` is true if it no longer exists.",
        GPUUnitAnswerSchema,
        examples.UNIT,
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
    failure_examples.INSUFFICIENT_CAPACITY,
    failure_examples.CONFLICT,
    *failure_examples.CLUSTER_FAILURES,
    body=JsonBodyDoc(CreateUnitSchema(), examples.CREATE),
)
async def create_unit(request: web.Request) -> web.Response:
    """Create a unit from stock."""
    service = keys.required_service(request, UNITS)
    command = await read_json_body(request, _create_schema(request.app[keys.REQUEST_LIMITS]))
    result = await request.app[keys.BACKGROUND_TASKS].finish(service.create(command))
    return operations_responses.created(result, _VIEW_SCHEMA, paths.unit_path(command.name))


@documented(
    _TAG,
    "List users' units",
    ResponseDoc(200, "One page of the list.", GPUUnitListAnswerSchema, examples.UNITS),
    failure_examples.BAD_QUERY,
    failure_examples.CONTINUE_EXPIRED,
    *failure_examples.CLUSTER_FAILURES,
    query=_LIST_QUERY,
)
async def list_units(request: web.Request) -> web.Response:
    """Return one page of the units."""
    service = keys.required_service(request, UNITS)
    page = await service.list(read_query(request, _LIST_QUERY))
    return http_responses.page([listed_unit(unit) for unit in page.items], _META_SCHEMA.dump(page))


@documented(
    _TAG,
    "Show one unit; with `wait`, once it is Ready or Failed",
    ResponseDoc(200, "The unit.", GPUUnitAnswerSchema, examples.UNIT, (hdrs.ETAG,)),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER_FAILURES,
    query=_WAIT_QUERY,
    path=_NAME_PARAMETER,
)
async def get_unit(request: web.Request) -> web.Response:
    """Return a unit, at once or when it is Ready or Failed."""
    service, name = keys.required_service(request, UNITS), path_name(request)
    seconds = read_query(request, _WAIT_QUERY)
    if seconds is None:
        return _unit_response(await service.get(name))
    request[DEADLINE].restart(seconds)
    settled = await request.app[keys.LONG_POLLS].run_until_stop(service.wait_ready(name, seconds))
    return _unit_response(settled or await service.get(name))


@documented(
    _TAG,
    "Change a unit",
    ResponseDoc(200, "The changed unit.", GPUUnitAnswerSchema, examples.UNIT, (hdrs.ETAG,)),
    *failure_examples.BODY_FAILURES,
    failure_examples.NOT_FOUND,
    failure_examples.CONFLICT,
    failure_examples.PRECONDITION_FAILED,
    *failure_examples.CLUSTER_FAILURES,
    body=JsonBodyDoc(_CHANGE_SCHEMA, examples.CHANGE),
    path=_NAME_PARAMETER,
    conditional=True,
)
async def change_unit(request: web.Request) -> web.Response:
    """Change the given fields of a unit."""
    service, name = keys.required_service(request, UNITS), path_name(request)
    changes = await read_json_body(request, _CHANGE_SCHEMA)
    command = replace(changes, name=name, if_match=parse_if_match(request))
    return _unit_response(await request.app[keys.BACKGROUND_TASKS].finish(service.change(command)))


@documented(
    _TAG,
    "Delete a unit",
    ResponseDoc(204, "It is deleted, or being deleted."),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    failure_examples.PRECONDITION_FAILED,
    *failure_examples.CLUSTER_FAILURES,
    path=_NAME_PARAMETER,
    conditional=True,
)
async def delete_unit(request: web.Request) -> web.Response:
    """Delete a unit."""
    service, name = keys.required_service(request, UNITS), path_name(request)
    require_no_query(request)
    await request.app[keys.BACKGROUND_TASKS].finish(service.delete(name, parse_if_match(request)))
    return http_responses.no_content()


def _unit_response(unit: GPUUnit) -> web.Response:
    headers = {hdrs.ETAG: make_etag(unit.metadata)}
    return http_responses.success(_VIEW_SCHEMA.dump(unit), headers=headers)
