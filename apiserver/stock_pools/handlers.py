"""The routes of stock pools."""

from typing import Final

from aiohttp import hdrs, web

from apiserver.http import failure_examples, keys, paths
from apiserver.http import responses as http_responses
from apiserver.http.body import read_body
from apiserver.http.etag import if_match
from apiserver.http.openapi import Answer, Body, documented
from apiserver.http.path_parameters import named, path_name
from apiserver.http.query import read_query, require_known
from apiserver.operations import responses as operations_responses
from apiserver.operations.schemas import JobAnswerSchema
from apiserver.schemas.queries import PageQuerySchema
from apiserver.schemas.response import PageMetaSchema
from apiserver.stock_pools import examples
from apiserver.stock_pools.schemas import (
    CreatePoolSchema,
    PoolSettingsSchema,
    StockPoolAnswerSchema,
    StockPoolListAnswerSchema,
    StockPoolViewSchema,
)
from shared.etag import etag
from shared.v1alpha1.stockpool import StockPool

_TAG: Final = "stock pools"
_NAME: Final = named("pool", "g1")


@documented(
    _TAG,
    "Make a pool of stock that looks after itself",
    Answer(201, "Made.", StockPoolAnswerSchema, examples.POOL, (hdrs.LOCATION,)),
    Answer(
        200,
        "The operation was done before; `deleted` where its pool is gone since.",
        StockPoolAnswerSchema,
        examples.POOL,
        (hdrs.LOCATION,),
    ),
    Answer(202, "Not finished yet: see the job.", JobAnswerSchema, examples.JOB, (hdrs.LOCATION,)),
    *failure_examples.BODY,
    failure_examples.OPERATION_CONFLICT,
    failure_examples.ALREADY_EXISTS,
    failure_examples.CONFLICT,
    *failure_examples.CLUSTER,
    body=Body(CreatePoolSchema(), examples.CREATE),
)
async def create(request: web.Request) -> web.Response:
    """Make a pool."""
    service = keys.service(request, keys.POOLS)
    command = await read_body(request, CreatePoolSchema())
    accepted = await request.app[keys.DETACHED].finish(service.create(command))
    return operations_responses.made(accepted, StockPoolViewSchema(), paths.pool(command.name))


@documented(
    _TAG,
    "List stock pools",
    Answer(200, "A part of the list.", StockPoolListAnswerSchema, examples.POOLS),
    failure_examples.BAD_QUERY,
    failure_examples.CONTINUE_EXPIRED,
    *failure_examples.CLUSTER,
    query=PageQuerySchema(),
)
async def index(request: web.Request) -> web.Response:
    """Show a part of the pools."""
    service, query = keys.service(request, keys.POOLS), read_query(request, PageQuerySchema())
    page = await service.list(query.limit, query.token)
    return http_responses.page(
        StockPoolViewSchema(many=True).dump(page.items), PageMetaSchema().dump(page)
    )


@documented(
    _TAG,
    "Show one pool",
    Answer(200, "The pool.", StockPoolAnswerSchema, examples.POOL, (hdrs.ETAG,)),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER,
    path=_NAME,
)
async def show(request: web.Request) -> web.Response:
    """Show a pool."""
    service, name = keys.service(request, keys.POOLS), path_name(request)
    require_known(request)
    return _pool(await service.get(name))


@documented(
    _TAG,
    "Give a pool other settings",
    Answer(200, "The pool as it is now.", StockPoolAnswerSchema, examples.POOL, (hdrs.ETAG,)),
    *failure_examples.BODY,
    failure_examples.NOT_FOUND,
    failure_examples.CONFLICT,
    failure_examples.PRECONDITION_FAILED,
    *failure_examples.CLUSTER,
    body=Body(PoolSettingsSchema(), examples.SETTINGS),
    path=_NAME,
    conditional=True,
)
async def replace(request: web.Request) -> web.Response:
    """Replace the settings of a pool."""
    service, name = keys.service(request, keys.POOLS), path_name(request)
    settings = await read_body(request, PoolSettingsSchema())
    work = service.replace(name, settings, if_match(request))
    return _pool(await request.app[keys.DETACHED].finish(work))


@documented(
    _TAG,
    "Delete a pool and its unclaimed stock",
    Answer(204, "It is gone, or on its way."),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER,
    path=_NAME,
)
async def delete(request: web.Request) -> web.Response:
    """Delete a pool."""
    service, name = keys.service(request, keys.POOLS), path_name(request)
    require_known(request)
    await request.app[keys.DETACHED].finish(service.delete(name))
    return http_responses.nothing()


def _pool(pool: StockPool) -> web.Response:
    headers = {hdrs.ETAG: etag(pool.metadata)}
    return http_responses.success(StockPoolViewSchema().dump(pool), headers=headers)
