"""As many creates as there is ready stock, in one burst over several replicas."""

import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial

from tests.bench.api.api_cluster import Api, api_plane, running_api
from tests.bench.api.create_calls import NotMadeError, created
from tests.bench.api.ready_stock import ready_stock
from tests.bench.offered_load import LEAD_SECONDS, offered
from tests.bench.reports import LatencyReport, summary
from tests.bench.table import Measure, measured
from tests.bench.usage import cpu, resident

REPLICAS = 3
COUNT = 300
RATE = 120
WARM_UP = 30


class Burst:
    """Creates in turn on each replica, and what came of them."""

    def __init__(self, apis: Sequence[Api]) -> None:
        self._apis = apis
        self.taken: list[str] = []
        self.refused: list[str] = []

    async def send(self, count: int, prefix: str) -> list[float]:
        """How long each create took."""
        return await offered(RATE, [partial(self._create, prefix, n) for n in range(count)])

    async def _create(self, prefix: str, number: int) -> None:
        api = self._apis[number % len(self._apis)]
        try:
            self.taken.append(await created(api, f"{prefix}-{number:04d}"))
        except NotMadeError as error:
            self.refused.append(str(error))


async def burst_measures() -> list[Measure]:
    """The last creates find almost nothing left, and still each finds its own."""
    async with AsyncExitStack() as parts:
        cluster = await parts.enter_async_context(api_plane())
        running = [running_api(cluster.plane, number) for number in range(REPLICAS)]
        apis = [await parts.enter_async_context(each) for each in running]
        await ready_stock(cluster.admin, "warm", WARM_UP)
        await Burst(apis).send(WARM_UP, "warm")
        await ready_stock(cluster.admin, "stock", COUNT)
        burst, before = Burst(apis), spent(apis)
        began = time.perf_counter() + LEAD_SECONDS
        took = summary(await burst.send(COUNT, "unit"))
        wall = time.perf_counter() - began
        cost = (spent(apis) - before) / COUNT
        return rows(burst, COUNT / wall, took, cost, max(resident(api.process) for api in apis))


def spent(apis: Sequence[Api]) -> float:
    return sum(cpu(api.process) for api in apis)


def rows(burst: Burst, rate: float, took: LatencyReport, cost: float, rss: float) -> list[Measure]:
    what = f"{COUNT} creates for {COUNT} ready stock, {REPLICAS} replicas"
    distinct = len(set(burst.taken))
    return [
        measured(f"{what}: made", len(burst.taken), COUNT, "= 1x", "units"),
        measured(f"{what}: distinct stock taken", distinct, COUNT, "= 1x", "units"),
        measured(f"{what}: reached of the offered rate", rate, RATE, "", "/s"),
        measured(f"{what}: p50", took.p50, None),
        measured(f"{what}: p99", took.p99, None),
        measured(f"{what}: CPU of the APIs for each", cost, None),
        measured(f"{what}: RSS of the largest API", rss, None, "", "MiB"),
    ]
