"""A burst of creates that uses all ready stock, over several replicas."""

import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial

from tests.bench.api.api_cluster import ApiProcess, run_api, run_api_bench_cluster
from tests.bench.api.create_calls import CreateFailedError, create_unit
from tests.bench.api.ready_stock import create_ready_stock
from tests.bench.offered_load import LEAD_SECONDS, run_at_rate
from tests.bench.reports import LatencyReport, summarise
from tests.bench.table import Measure, new_measure
from tests.bench.usage import resident_mebibytes, used_cpu_seconds

REPLICAS = 3
CREATE_COUNT = 300
OFFERED_RATE = 120
WARM_UP_COUNT = 30


class Burst:
    """Creates in turn on each replica, with the stock that they used and their errors."""

    def __init__(self, apis: Sequence[ApiProcess]) -> None:
        self._apis = apis
        self.used_stock: list[str] = []
        self.refusals: list[str] = []

    async def send(self, count: int, prefix: str) -> list[float]:
        """Send creates, and return the seconds of each."""
        return await run_at_rate(
            OFFERED_RATE, [partial(self._create, prefix, n) for n in range(count)]
        )

    async def _create(self, prefix: str, number: int) -> None:
        api = self._apis[number % len(self._apis)]
        try:
            self.used_stock.append(await create_unit(api, f"{prefix}-{number:04d}"))
        except CreateFailedError as error:
            self.refusals.append(str(error))


async def measure_bursts() -> list[Measure]:
    """Measure a burst whose last creates compete for the last stock."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(run_api_bench_cluster())
        running = [run_api(cluster.control_plane, number) for number in range(REPLICAS)]
        apis = [await stack.enter_async_context(replica) for replica in running]
        await create_ready_stock(cluster.admin_connection, "warm", WARM_UP_COUNT)
        await Burst(apis).send(WARM_UP_COUNT, "warm")
        await create_ready_stock(cluster.admin_connection, "stock", CREATE_COUNT)
        burst, before = Burst(apis), total_cpu(apis)
        began = time.perf_counter() + LEAD_SECONDS
        latency = summarise(await burst.send(CREATE_COUNT, "unit"))
        wall = time.perf_counter() - began
        cost = (total_cpu(apis) - before) / CREATE_COUNT
        return rows(
            burst,
            CREATE_COUNT / wall,
            latency,
            cost,
            max(resident_mebibytes(api.process) for api in apis),
        )


def total_cpu(apis: Sequence[ApiProcess]) -> float:
    return sum(used_cpu_seconds(api.process) for api in apis)


def rows(
    burst: Burst, rate: float, latency: LatencyReport, cpu_per_create: float, rss: float
) -> list[Measure]:
    title = f"{CREATE_COUNT} creates for {CREATE_COUNT} ready stock, {REPLICAS} replicas"
    distinct = len(set(burst.used_stock))
    return [
        new_measure(
            f"{title}: created units", len(burst.used_stock), CREATE_COUNT, "= 1x", "units"
        ),
        new_measure(f"{title}: distinct stock units used", distinct, CREATE_COUNT, "= 1x", "units"),
        new_measure(f"{title}: reached of the offered rate", rate, OFFERED_RATE, "", "/s"),
        new_measure(f"{title}: p50", latency.p50, None),
        new_measure(f"{title}: p99", latency.p99, None),
        new_measure(f"{title}: CPU of the APIs for each", cpu_per_create, None),
        new_measure(f"{title}: RSS of the largest API", rss, None, "", "MiB"),
    ]
