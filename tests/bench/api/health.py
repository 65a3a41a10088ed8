"""Health requests at a high rate; the API responds from memory."""

import asyncio
import time
from functools import partial

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from tests.bench.api.api_cluster import ApiProcess, run_api, run_api_bench_cluster
from tests.bench.offered_load import LEAD_SECONDS, run_at_rate
from tests.bench.reports import summarise
from tests.bench.table import Measure, new_measure
from tests.bench.usage import resident_mebibytes, used_cpu_seconds

OFFERED_RATE = 1_000
SECONDS = 5
REST_SECONDS = 10.0  # longer than the period of every background task
REQUEST_COUNT = OFFERED_RATE * SECONDS
KUBERNETES_CALLS_METRIC = "rest_client_requests_total"


async def measure_health() -> list[Measure]:
    """Compare the calls to Kubernetes during the requests with the calls at rest."""
    async with run_api_bench_cluster() as cluster, run_api(cluster.control_plane) as api:
        await run_at_rate(OFFERED_RATE, [partial(get_health, api.session)] * OFFERED_RATE)
        before = await kubernetes_call_count(api.session)
        await asyncio.sleep(REST_SECONDS)
        at_rest = (await kubernetes_call_count(api.session) - before) / REST_SECONDS
        return await measure_requests(api, at_rest)


async def measure_requests(api: ApiProcess, idle_calls_per_second: float) -> list[Measure]:
    before, cpu_seconds = await kubernetes_call_count(api.session), used_cpu_seconds(api.process)
    began = time.perf_counter() + LEAD_SECONDS
    latency = summarise(
        await run_at_rate(OFFERED_RATE, [partial(get_health, api.session)] * REQUEST_COUNT)
    )
    seconds = time.perf_counter() - began
    rate = REQUEST_COUNT / seconds
    cpu_seconds = (used_cpu_seconds(api.process) - cpu_seconds) / REQUEST_COUNT
    calls_per_second = (await kubernetes_call_count(api.session) - before) / seconds
    title = f"health at {OFFERED_RATE:,}/s"
    return [
        new_measure(f"{title}: reached of the offered rate", rate, OFFERED_RATE, "", "/s"),
        new_measure(f"{title}: p50", latency.p50, None),
        new_measure(f"{title}: p99", latency.p99, None),
        new_measure(
            f"{title}: calls to Kubernetes a second against those at rest",
            *(calls_per_second, idle_calls_per_second, "about 1x", "/s"),
        ),
        new_measure(f"{title}: CPU of the API for each", cpu_seconds, None),
        new_measure(f"{title}: RSS of the API", resident_mebibytes(api.process), None, "", "MiB"),
    ]


async def get_health(session: aiohttp.ClientSession) -> None:
    async with session.get("/api/v1/health") as response:
        response.raise_for_status()
        await response.read()


async def kubernetes_call_count(session: aiohttp.ClientSession) -> float:
    """Return the number of calls to Kubernetes since the start of the API."""
    async with session.get("/metrics") as response:
        text = await response.text()
    samples = (
        sample for family in text_string_to_metric_families(text) for sample in family.samples
    )
    return sum(sample.value for sample in samples if sample.name == KUBERNETES_CALLS_METRIC)
