"""Creates at a steady rate, beside the bare writes that each of them consists of."""

from collections.abc import Sequence
from functools import partial

from shared.v1alpha1.gpuunit import GPUUnit
from tests.bench.api.api_cluster import Api, ApiPlane, api_plane, running_api
from tests.bench.api.create_calls import bare_writes, created
from tests.bench.api.ready_stock import ready_stock, remove_stock
from tests.bench.offered_load import offered
from tests.bench.reports import LatencyReport, summary
from tests.bench.table import Measure, measured
from tests.bench.usage import cpu, resident

RATE = 45
SECONDS = 5
COUNT = RATE * SECONDS
ROUNDS = 4
WARM_UP = 45


async def create_measures() -> list[Measure]:
    """In turns on one control plane, and of each side the better of its rounds."""
    async with api_plane() as cluster, running_api(cluster.plane) as api:
        await bare_round(cluster, "first", WARM_UP)
        await api_round(cluster, api, "warm", WARM_UP)
        ours, floor = list[LatencyReport](), list[LatencyReport]()
        before = cpu(api.process)
        for turn in range(ROUNDS):
            floor.append(await bare_round(cluster, f"bare-{turn}", COUNT))
            ours.append(await api_round(cluster, api, f"ours-{turn}", COUNT))
        spent = (cpu(api.process) - before) / (ROUNDS * COUNT)
        return rows(better(ours), better(floor), spent, resident(api.process))


async def bare_round(cluster: ApiPlane, name: str, count: int) -> LatencyReport:
    """The writes alone."""
    stock = await ready_stock(cluster.admin, name, count)
    writes = [partial(bare_writes, cluster.bare, unit_name(unit), unit) for unit in stock]
    took = await offered(RATE, writes)
    await remove_stock(cluster.admin)
    return summary(took)


async def api_round(cluster: ApiPlane, api: Api, name: str, count: int) -> LatencyReport:
    """The same over HTTP, where the API chooses among the stock."""
    stock = await ready_stock(cluster.admin, name, count)
    took = await offered(RATE, [partial(created, api, unit_name(unit)) for unit in stock])
    await remove_stock(cluster.admin)
    return summary(took)


def unit_name(stock: GPUUnit) -> str:
    return f"unit-{stock.metadata.name}"


def better(rounds: Sequence[LatencyReport]) -> LatencyReport:
    """The best that was seen of each figure: what is worse was somebody else's load."""
    return LatencyReport(
        rounds[0].count,
        *(min(getattr(each, part) for each in rounds) for part in ("p50", "p90", "p99", "max")),
    )


def rows(ours: LatencyReport, floor: LatencyReport, cpu: float, rss: float) -> list[Measure]:
    what = f"create at {RATE}/s against its four bare writes"
    return [
        measured(f"{what}, p50", ours.p50, floor.p50, "<= 1.5x"),
        measured(f"{what}, p99", ours.p99, floor.p99, "<= 4x"),
        measured("CPU of the API for a create", cpu, None),
        measured("RSS of the API after creates", rss, None, "", "MiB"),
    ]
