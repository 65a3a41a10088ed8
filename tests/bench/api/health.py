"""Health, asked for far more often than anybody should: answered from memory."""

import asyncio
import time
from functools import partial

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from tests.bench.api.api_cluster import Api, api_plane, running_api
from tests.bench.offered_load import LEAD_SECONDS, offered
from tests.bench.reports import summary
from tests.bench.table import Measure, measured
from tests.bench.usage import cpu, resident

RATE = 1_000
SECONDS = 5
REST_SECONDS = 10.0  # all that goes on in the background has come round once
COUNT = RATE * SECONDS
CALLS = "rest_client_requests_total"


async def health_measures() -> list[Measure]:
    """The calls to Kubernetes meanwhile, beside those in as much time without any request."""
    async with api_plane() as cluster, running_api(cluster.plane) as api:
        await offered(RATE, [partial(health, api.session)] * RATE)
        before = await calls(api.session)
        await asyncio.sleep(REST_SECONDS)
        at_rest = (await calls(api.session) - before) / REST_SECONDS
        return await asked(api, at_rest)


async def asked(api: Api, at_rest: float) -> list[Measure]:
    before, spent = await calls(api.session), cpu(api.process)
    began = time.perf_counter() + LEAD_SECONDS
    took = summary(await offered(RATE, [partial(health, api.session)] * COUNT))
    seconds = time.perf_counter() - began
    rate = COUNT / seconds
    spent = (cpu(api.process) - spent) / COUNT
    meanwhile = (await calls(api.session) - before) / seconds
    what = f"health at {RATE:,}/s"
    return [
        measured(f"{what}: reached of the offered rate", rate, RATE, "", "/s"),
        measured(f"{what}: p50", took.p50, None),
        measured(f"{what}: p99", took.p99, None),
        measured(
            f"{what}: calls to Kubernetes a second against those at rest",
            *(meanwhile, at_rest, "about 1x", "/s"),
        ),
        measured(f"{what}: CPU of the API for each", spent, None),
        measured(f"{what}: RSS of the API", resident(api.process), None, "", "MiB"),
    ]


async def health(session: aiohttp.ClientSession) -> None:
    async with session.get("/api/v1/health") as response:
        response.raise_for_status()
        await response.read()


async def calls(session: aiohttp.ClientSession) -> float:
    """How often the API has asked Kubernetes for something since it began."""
    async with session.get("/metrics") as response:
        text = await response.text()
    samples = (each for family in text_string_to_metric_families(text) for each in family.samples)
    return sum(each.value for each in samples if each.name == CALLS)
