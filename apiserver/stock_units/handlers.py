"""The routes of stock."""

from typing import Final

from aiohttp import hdrs, web

from apiserver.http import failure_examples, keys
from apiserver.http import responses as http_responses
from apiserver.http.body import read_json_body
from apiserver.http.openapi import JsonBodyDoc, ResponseDoc, documented
from apiserver.http.path_parameters import name_parameter, path_name
from apiserver.http.query import read_query, require_no_query
from apiserver.operations import examples as operations_examples
from apiserver.operations import responses as operations_responses
from apiserver.operations.schemas import JobAnswerSchema
from apiserver.stock_units import examples as stock_units_examples
from apiserver.stock_units.schemas import SeedStockSchema, StockListAnswerSchema, StockMetaSchema
from apiserver.stock_units.service import StockService
from apiserver.units.list_view import listed_stock_unit
from apiserver.units.schemas import StockUnitsQuerySchema

STOCK: Final = web.AppKey("stock", StockService)

_TAG: Final = "stock units"
_LIST_QUERY: Final = StockUnitsQuerySchema()
_META_SCHEMA: Final = StockMetaSchema()


@documented(
    _TAG,
    "Seed stock units",
    ResponseDoc(
        202,
        "Accepted; the job creates the stock units.",
        JobAnswerSchema,
        operations_examples.PENDING,
        (hdrs.LOCATION,),
    ),
    ResponseDoc(
        200,
        "The job of an earlier request with this operationID.",
        JobAnswerSchema,
        operations_examples.JOB,
        (hdrs.LOCATION,),
    ),
    *failure_examples.BODY_FAILURES,
    failure_examples.OPERATION_CONFLICT,
    failure_examples.CONFLICT,
    *failure_examples.CLUSTER_FAILURES,
    body=JsonBodyDoc(SeedStockSchema(), stock_units_examples.SEED),
)
async def seed_stock(request: web.Request) -> web.Response:
    """Accept a request to seed stock units."""
    service = keys.required_service(request, STOCK)
    command = await read_json_body(request, SeedStockSchema(request.app[keys.REQUEST_LIMITS]))
    return operations_responses.accepted(
        await request.app[keys.BACKGROUND_TASKS].finish(service.seed(command))
    )


@documented(
    _TAG,
    "List stock units, and count them by spec and phase",
    ResponseDoc(200, "One page of the list.", StockListAnswerSchema, stock_units_examples.UNITS),
    failure_examples.BAD_QUERY,
    failure_examples.CONTINUE_EXPIRED,
    *failure_examples.CLUSTER_FAILURES,
    query=_LIST_QUERY,
)
async def list_stock_units(request: web.Request) -> web.Response:
    """Return one page of the stock, and the counts of all stock."""
    service = keys.required_service(request, STOCK)
    stock = await service.list(read_query(request, _LIST_QUERY))
    meta = {
        "continue_token": stock.page.continue_token,
        "remaining": stock.page.remaining,
        "summary": stock.summary,
    }
    return http_responses.page(
        [listed_stock_unit(unit) for unit in stock.page.items], _META_SCHEMA.dump(meta)
    )


@documented(
    _TAG,
    "Delete an unclaimed stock unit",
    ResponseDoc(204, "It is deleted, or being deleted."),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    failure_examples.CONFLICT,
    *failure_examples.CLUSTER_FAILURES,
    path=name_parameter("stock unit", stock_units_examples.NAME),
)
async def delete_stock_unit(request: web.Request) -> web.Response:
    """Delete a stock unit."""
    service, name = keys.required_service(request, STOCK), path_name(request)
    require_no_query(request)
    await request.app[keys.BACKGROUND_TASKS].finish(service.delete(name))
    return http_responses.no_content()
