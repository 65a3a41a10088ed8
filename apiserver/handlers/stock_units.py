"""The routes of stock."""

from typing import Final

from aiohttp import hdrs, web

from apiserver import acceptance, envelope, keys
from apiserver.body import read_body
from apiserver.document import Answer, Body, documented
from apiserver.examples import failures, jobs, stock
from apiserver.handlers.path_name import named, path_name
from apiserver.query import read_query, require_known
from apiserver.schemas.jobs import JobAnswerSchema
from apiserver.schemas.listed_unit import listed_stock
from apiserver.schemas.queries import StockQuerySchema
from apiserver.schemas.stock_units import (
    SeedStockSchema,
    StockListAnswerSchema,
    StockMetaSchema,
)

_TAG: Final = "stock units"
_LIST: Final = StockQuerySchema()
_META: Final = StockMetaSchema()


@documented(
    _TAG,
    "Seed stock units",
    Answer(202, "Recorded; the job makes them.", JobAnswerSchema, jobs.PENDING, (hdrs.LOCATION,)),
    Answer(200, "The job of before.", JobAnswerSchema, jobs.JOB, (hdrs.LOCATION,)),
    *failures.BODY,
    failures.OPERATION_CONFLICT,
    failures.CONFLICT,
    *failures.CLUSTER,
    body=Body(SeedStockSchema(), stock.SEED),
)
async def seed(request: web.Request) -> web.Response:
    """Record that stock shall be made."""
    service = keys.service(request, keys.STOCK)
    command = await read_body(request, SeedStockSchema(request.app[keys.LIMITS]))
    return acceptance.started(await request.app[keys.DETACHED].finish(service.seed(command)))


@documented(
    _TAG,
    "List stock units, and count them by spec and phase",
    Answer(200, "A part of the list.", StockListAnswerSchema, stock.UNITS),
    failures.BAD_QUERY,
    failures.CONTINUE_EXPIRED,
    *failures.CLUSTER,
    query=_LIST,
)
async def index(request: web.Request) -> web.Response:
    """Show a part of the stock and the counts of all of it."""
    service = keys.service(request, keys.STOCK)
    found = await service.list(read_query(request, _LIST))
    meta = {"token": found.page.token, "remaining": found.page.remaining, "summary": found.summary}
    return envelope.page([listed_stock(each) for each in found.page.items], _META.dump(meta))


@documented(
    _TAG,
    "Delete a stock unit that nobody has claimed",
    Answer(204, "It is gone, or on its way."),
    failures.BAD_QUERY,
    failures.NOT_FOUND,
    failures.CONFLICT,
    *failures.CLUSTER,
    path=named("stock unit", stock.NAME),
)
async def delete(request: web.Request) -> web.Response:
    """Delete a stock unit."""
    service, name = keys.service(request, keys.STOCK), path_name(request)
    require_known(request)
    await request.app[keys.DETACHED].finish(service.delete(name))
    return envelope.nothing()
