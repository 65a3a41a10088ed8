"""The routes of stock."""

from typing import Final

from aiohttp import hdrs, web

from apiserver.http import failure_examples, keys
from apiserver.http import responses as http_responses
from apiserver.http.body import read_body
from apiserver.http.openapi import Answer, Body, documented
from apiserver.http.path_parameters import named, path_name
from apiserver.http.query import read_query, require_known
from apiserver.operations import examples as operations_examples
from apiserver.operations import responses as operations_responses
from apiserver.operations.schemas import JobAnswerSchema
from apiserver.schemas.queries import StockQuerySchema
from apiserver.stock_units import examples as stock_units_examples
from apiserver.stock_units.schemas import SeedStockSchema, StockListAnswerSchema, StockMetaSchema
from apiserver.units.list_view import listed_stock

_TAG: Final = "stock units"
_LIST: Final = StockQuerySchema()
_META: Final = StockMetaSchema()


@documented(
    _TAG,
    "Seed stock units",
    Answer(
        202,
        "Recorded; the job makes them.",
        JobAnswerSchema,
        operations_examples.PENDING,
        (hdrs.LOCATION,),
    ),
    Answer(200, "The job of before.", JobAnswerSchema, operations_examples.JOB, (hdrs.LOCATION,)),
    *failure_examples.BODY,
    failure_examples.OPERATION_CONFLICT,
    failure_examples.CONFLICT,
    *failure_examples.CLUSTER,
    body=Body(SeedStockSchema(), stock_units_examples.SEED),
)
async def seed(request: web.Request) -> web.Response:
    """Record that stock shall be made."""
    service = keys.service(request, keys.STOCK)
    command = await read_body(request, SeedStockSchema(request.app[keys.LIMITS]))
    return operations_responses.started(
        await request.app[keys.DETACHED].finish(service.seed(command))
    )


@documented(
    _TAG,
    "List stock units, and count them by spec and phase",
    Answer(200, "A part of the list.", StockListAnswerSchema, stock_units_examples.UNITS),
    failure_examples.BAD_QUERY,
    failure_examples.CONTINUE_EXPIRED,
    *failure_examples.CLUSTER,
    query=_LIST,
)
async def index(request: web.Request) -> web.Response:
    """Show a part of the stock and the counts of all of it."""
    service = keys.service(request, keys.STOCK)
    found = await service.list(read_query(request, _LIST))
    meta = {"token": found.page.token, "remaining": found.page.remaining, "summary": found.summary}
    return http_responses.page([listed_stock(each) for each in found.page.items], _META.dump(meta))


@documented(
    _TAG,
    "Delete a stock unit that nobody has claimed",
    Answer(204, "It is gone, or on its way."),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    failure_examples.CONFLICT,
    *failure_examples.CLUSTER,
    path=named("stock unit", stock_units_examples.NAME),
)
async def delete(request: web.Request) -> web.Response:
    """Delete a stock unit."""
    service, name = keys.service(request, keys.STOCK), path_name(request)
    require_known(request)
    await request.app[keys.DETACHED].finish(service.delete(name))
    return http_responses.nothing()
