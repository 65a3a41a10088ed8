"""The routes of stock pools."""

from typing import Final

from aiohttp import hdrs, web

from apiserver import acceptance, envelope, keys, places
from apiserver.body import read_body
from apiserver.document import Answer, Body, documented
from apiserver.etag import if_match
from apiserver.examples import failures, pools
from apiserver.handlers.path_name import named, path_name
from apiserver.query import read_query, require_known
from apiserver.schemas.answers import PageMetaSchema
from apiserver.schemas.jobs import JobAnswerSchema
from apiserver.schemas.queries import PageQuerySchema
from apiserver.schemas.stock_pools import (
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
    Answer(201, "Made.", StockPoolAnswerSchema, pools.POOL, (hdrs.LOCATION,)),
    Answer(
        200,
        "The operation was done before; `deleted` where its pool is gone since.",
        StockPoolAnswerSchema,
        pools.POOL,
        (hdrs.LOCATION,),
    ),
    Answer(202, "Not finished yet: see the job.", JobAnswerSchema, pools.JOB, (hdrs.LOCATION,)),
    *failures.BODY,
    failures.OPERATION_CONFLICT,
    failures.ALREADY_EXISTS,
    failures.CONFLICT,
    *failures.CLUSTER,
    body=Body(CreatePoolSchema(), pools.CREATE),
)
async def create(request: web.Request) -> web.Response:
    """Make a pool."""
    service = keys.service(request, keys.POOLS)
    command = await read_body(request, CreatePoolSchema())
    accepted = await request.app[keys.DETACHED].finish(service.create(command))
    return acceptance.made(accepted, StockPoolViewSchema(), places.pool(command.name))


@documented(
    _TAG,
    "List stock pools",
    Answer(200, "A part of the list.", StockPoolListAnswerSchema, pools.POOLS),
    failures.BAD_QUERY,
    failures.CONTINUE_EXPIRED,
    *failures.CLUSTER,
    query=PageQuerySchema(),
)
async def index(request: web.Request) -> web.Response:
    """Show a part of the pools."""
    service, query = keys.service(request, keys.POOLS), read_query(request, PageQuerySchema())
    page = await service.list(query.limit, query.token)
    return envelope.page(
        StockPoolViewSchema(many=True).dump(page.items), PageMetaSchema().dump(page)
    )


@documented(
    _TAG,
    "Show one pool",
    Answer(200, "The pool.", StockPoolAnswerSchema, pools.POOL, (hdrs.ETAG,)),
    failures.BAD_QUERY,
    failures.NOT_FOUND,
    *failures.CLUSTER,
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
    Answer(200, "The pool as it is now.", StockPoolAnswerSchema, pools.POOL, (hdrs.ETAG,)),
    *failures.BODY,
    failures.NOT_FOUND,
    failures.CONFLICT,
    failures.PRECONDITION_FAILED,
    *failures.CLUSTER,
    body=Body(PoolSettingsSchema(), pools.SETTINGS),
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
    failures.BAD_QUERY,
    failures.NOT_FOUND,
    *failures.CLUSTER,
    path=_NAME,
)
async def delete(request: web.Request) -> web.Response:
    """Delete a pool."""
    service, name = keys.service(request, keys.POOLS), path_name(request)
    require_known(request)
    await request.app[keys.DETACHED].finish(service.delete(name))
    return envelope.nothing()


def _pool(pool: StockPool) -> web.Response:
    headers = {hdrs.ETAG: etag(pool.metadata)}
    return envelope.success(StockPoolViewSchema().dump(pool), headers=headers)
