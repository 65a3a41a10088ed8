"""Creates at a steady rate, compared with the bare writes of each create."""

from collections.abc import Sequence
from functools import partial

from shared.v1alpha1.gpuunit import GPUUnit
from tests.bench.api.api_cluster import ApiBenchCluster, ApiProcess, run_api, run_api_bench_cluster
from tests.bench.api.create_calls import create_unit, write_create_directly
from tests.bench.api.ready_stock import create_ready_stock, remove_stock
from tests.bench.offered_load import run_at_rate
from tests.bench.reports import LatencyReport, summarise
from tests.bench.table import Measure, new_measure
from tests.bench.usage import resident_mebibytes, used_cpu_seconds

OFFERED_RATE = 45
SECONDS = 5
CREATE_COUNT = OFFERED_RATE * SECONDS
ROUNDS = 4
WARM_UP_COUNT = 45


async def measure_creates() -> list[Measure]:
    """Measure both sides in turns on one control plane; return the best round of each."""
    async with run_api_bench_cluster() as cluster, run_api(cluster.control_plane) as api:
        await run_direct_round(cluster, "first", WARM_UP_COUNT)
        await run_api_round(cluster, api, "warm", WARM_UP_COUNT)
        ours, floor = list[LatencyReport](), list[LatencyReport]()
        before = used_cpu_seconds(api.process)
        for turn in range(ROUNDS):
            floor.append(await run_direct_round(cluster, f"bare-{turn}", CREATE_COUNT))
            ours.append(await run_api_round(cluster, api, f"ours-{turn}", CREATE_COUNT))
        spent = (used_cpu_seconds(api.process) - before) / (ROUNDS * CREATE_COUNT)
        return rows(best_of(ours), best_of(floor), spent, resident_mebibytes(api.process))


async def run_direct_round(cluster: ApiBenchCluster, name: str, count: int) -> LatencyReport:
    """Measure the writes alone."""
    stock = await create_ready_stock(cluster.admin_connection, name, count)
    writes = [
        partial(write_create_directly, cluster.api_account_connection, unit_name(unit), unit)
        for unit in stock
    ]
    durations = await run_at_rate(OFFERED_RATE, writes)
    await remove_stock(cluster.admin_connection)
    return summarise(durations)


async def run_api_round(
    cluster: ApiBenchCluster, api: ApiProcess, name: str, count: int
) -> LatencyReport:
    """Measure creates over HTTP, where the API chooses the stock."""
    stock = await create_ready_stock(cluster.admin_connection, name, count)
    durations = await run_at_rate(
        OFFERED_RATE, [partial(create_unit, api, unit_name(unit)) for unit in stock]
    )
    await remove_stock(cluster.admin_connection)
    return summarise(durations)


def unit_name(stock: GPUUnit) -> str:
    return f"unit-{stock.metadata.name}"


def best_of(rounds: Sequence[LatencyReport]) -> LatencyReport:
    """Return the best of each figure: worse ones are due to other load on the machine."""
    return LatencyReport(
        rounds[0].count,
        *(
            min(getattr(report, figure) for report in rounds)
            for figure in ("p50", "p90", "p99", "max")
        ),
    )


def rows(
    api: LatencyReport, direct: LatencyReport, cpu_per_create: float, rss: float
) -> list[Measure]:
    title = f"create at {OFFERED_RATE}/s against its four bare writes"
    return [
        new_measure(f"{title}, p50", api.p50, direct.p50, "<= 1.5x"),
        new_measure(f"{title}, p99", api.p99, direct.p99, "<= 4x"),
        new_measure("CPU of the API for a create", cpu_per_create, None),
        new_measure("RSS of the API after creates", rss, None, "", "MiB"),
    ]
