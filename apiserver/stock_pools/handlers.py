"""The routes of stock pools."""

from typing import Final

from aiohttp import hdrs, web

from apiserver.http import failure_examples, keys, paths
from apiserver.http import responses as http_responses
from apiserver.http.body import read_json_body
from apiserver.http.etag import parse_if_match
from apiserver.http.openapi import JsonBodyDoc, ResponseDoc, documented
from apiserver.http.path_parameters import name_parameter, path_name
from apiserver.http.query import read_query, require_no_query
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
from apiserver.stock_pools.service import PoolService
from shared.etag import make_etag
from shared.v1alpha1.stockpool import StockPool

POOLS: Final = web.AppKey("pools", PoolService)

_TAG: Final = "stock pools"
_NAME_PARAMETER: Final = name_parameter("pool", "g1")


@documented(
    _TAG,
    "Create a stock pool, which keeps a number of stock units",
    ResponseDoc(201, "Created.", StockPoolAnswerSchema, examples.POOL, (hdrs.LOCATION,)),
    ResponseDoc(
        200,
        "An earlier request created the pool; `deleted` is true if it no longer exists.",
        StockPoolAnswerSchema,
        examples.POOL,
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
    body=JsonBodyDoc(CreatePoolSchema(), examples.CREATE),
)
async def create_pool(request: web.Request) -> web.Response:
    """Create a pool."""
    service = keys.required_service(request, POOLS)
    command = await read_json_body(request, CreatePoolSchema())
    result = await request.app[keys.BACKGROUND_TASKS].finish(service.create(command))
    return operations_responses.created(
        result, StockPoolViewSchema(), paths.pool_path(command.name)
    )


@documented(
    _TAG,
    "List stock pools",
    ResponseDoc(200, "One page of the list.", StockPoolListAnswerSchema, examples.POOLS),
    failure_examples.BAD_QUERY,
    failure_examples.CONTINUE_EXPIRED,
    *failure_examples.CLUSTER_FAILURES,
    query=PageQuerySchema(),
)
async def list_pools(request: web.Request) -> web.Response:
    """Return one page of the pools."""
    service, query = (
        keys.required_service(request, POOLS),
        read_query(request, PageQuerySchema()),
    )
    page = await service.list(query.limit, query.continue_token)
    return http_responses.page(
        StockPoolViewSchema(many=True).dump(page.items), PageMetaSchema().dump(page)
    )


@documented(
    _TAG,
    "Show one pool",
    ResponseDoc(200, "The pool.", StockPoolAnswerSchema, examples.POOL, (hdrs.ETAG,)),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER_FAILURES,
    path=_NAME_PARAMETER,
)
async def get_pool(request: web.Request) -> web.Response:
    """Return a pool."""
    service, name = keys.required_service(request, POOLS), path_name(request)
    require_no_query(request)
    return _pool_response(await service.get(name))


@documented(
    _TAG,
    "Replace the settings of a pool",
    ResponseDoc(200, "The changed pool.", StockPoolAnswerSchema, examples.POOL, (hdrs.ETAG,)),
    *failure_examples.BODY_FAILURES,
    failure_examples.NOT_FOUND,
    failure_examples.CONFLICT,
    failure_examples.PRECONDITION_FAILED,
    *failure_examples.CLUSTER_FAILURES,
    body=JsonBodyDoc(PoolSettingsSchema(), examples.SETTINGS),
    path=_NAME_PARAMETER,
    conditional=True,
)
async def replace_pool(request: web.Request) -> web.Response:
    """Replace the settings of a pool."""
    service, name = keys.required_service(request, POOLS), path_name(request)
    settings = await read_json_body(request, PoolSettingsSchema())
    work = service.replace(name, settings, parse_if_match(request))
    return _pool_response(await request.app[keys.BACKGROUND_TASKS].finish(work))


@documented(
    _TAG,
    "Delete a pool and its unclaimed stock",
    ResponseDoc(204, "It is deleted, or being deleted."),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER_FAILURES,
    path=_NAME_PARAMETER,
)
async def delete_pool(request: web.Request) -> web.Response:
    """Delete a pool."""
    service, name = keys.required_service(request, POOLS), path_name(request)
    require_no_query(request)
    await request.app[keys.BACKGROUND_TASKS].finish(service.delete(name))
    return http_responses.no_content()


def _pool_response(pool: StockPool) -> web.Response:
    headers = {hdrs.ETAG: make_etag(pool.metadata)}
    return http_responses.success(StockPoolViewSchema().dump(pool), headers=headers)
