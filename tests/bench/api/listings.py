"""A long list of units through the API, beside the API server's own list and the encoding."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

from apiserver.units.manifest import unit_manifest
from apiserver.units.schemas import CreateUnitSchema
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import gpuunit
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec
from tests.bench.api.api_cluster import ApiBenchCluster, run_api, run_api_bench_cluster
from tests.bench.api.create_calls import GPU_UNITS_PATH, INSTANCE, create_request, with_type
from tests.bench.api.ready_stock import SPEC_NAME, create_ready_units, units_path
from tests.bench.controller.unit_load import STOCK_NAMESPACE
from tests.bench.table import Measure, new_measure
from tests.bench.usage import resident_mebibytes, used_cpu_seconds

UNIT_COUNT = 5_000
PAGE_SIZE = 500
ROUNDS = 5
SOURCE_STOCK = GPUUnit(
    metadata=ObjectMeta(
        name="stock-1", namespace=STOCK_NAMESPACE, uid="7d3a0a54-6f1c-4b53-9f0c-5a3f4d1c2b00"
    ),
    spec=GPUUnitSpec(spec_name=SPEC_NAME, cpu="1", memory="8Gi", gpu=1),
)


class ListMeta(msgspec.Struct):
    """Where a list goes on."""

    token: str = msgspec.field(name="continue", default="")


class KubernetesPage(msgspec.Struct):
    """A page as Kubernetes sends it."""

    metadata: ListMeta
    items: list[msgspec.Raw]


class ApiPage(msgspec.Struct):
    """A page as the API sends it."""

    meta: ListMeta
    data: list[dict[str, Any]]


@dataclass
class TimedList:
    """Seconds for each page, and all that the pages held."""

    seconds: list[float]
    bodies: list[bytes]


async def measure_listings() -> list[Measure]:
    """In turns, and of each side the best of its rounds."""
    async with run_api_bench_cluster() as cluster, run_api(cluster.control_plane) as api:
        await create_ready_units(
            cluster.admin_connection, INSTANCE, [user_unit_manifest(n) for n in range(UNIT_COUNT)]
        )
        ours, floor = list[TimedList](), list[TimedList]()
        before = used_cpu_seconds(api.process)
        for _ in range(ROUNDS):
            floor.append(await time_kubernetes_list(cluster))
            ours.append(await time_api_list(api.session))
        spent = (used_cpu_seconds(api.process) - before) / ROUNDS
        return [
            *rows(ours, floor, encoding_times(ours[0].bodies)),
            new_measure(f"CPU of the API to list {UNIT_COUNT:,} units", spent, None),
            new_measure(
                f"RSS of the API after lists of {UNIT_COUNT:,} units",
                resident_mebibytes(api.process),
                None,
                "",
                "MiB",
            ),
        ]


def user_unit_manifest(number: int) -> dict[str, Any]:
    """A unit such as the API makes."""
    command = CreateUnitSchema().parse(create_request(f"unit-{number:05d}"))
    return with_type(gpuunit.KIND, unit_manifest(command, SOURCE_STOCK))


async def time_kubernetes_list(cluster: ApiBenchCluster) -> TimedList:
    """What the API server takes by itself."""
    path = units_path(INSTANCE)
    return await time_pages(
        lambda token: cluster.api_account_connection.get(
            path, gzip=False, limit=str(PAGE_SIZE), **continue_query(token)
        ),
        lambda body: msgspec.json.decode(body, type=KubernetesPage).metadata.token,
    )


async def time_api_list(session: aiohttp.ClientSession) -> TimedList:
    """The same through the API."""

    async def page(token: str) -> bytes:
        async with session.get(
            GPU_UNITS_PATH, params={"limit": PAGE_SIZE, **continue_query(token)}
        ) as response:
            response.raise_for_status()
            return await response.read()

    return await time_pages(page, lambda body: msgspec.json.decode(body, type=ApiPage).meta.token)


async def time_pages(
    fetch_page: Callable[[str], Awaitable[bytes]], token_of: Callable[[bytes], str]
) -> TimedList:
    """Page after page; only the time for the answers counts."""
    found, token = TimedList([], []), ""
    while token or not found.bodies:
        began = time.perf_counter()
        body = await fetch_page(token)
        found.seconds.append(time.perf_counter() - began)
        found.bodies.append(body)
        token = token_of(body)
    return found


def continue_query(token: str) -> dict[str, str]:
    return {"continue": token} if token else {}


def encoding_times(bodies: Sequence[bytes]) -> list[float]:
    """Seconds to write each answer as JSON, once everything that it says is at hand."""
    return [min(time_encoding(msgspec.json.decode(body)) for _ in range(ROUNDS)) for body in bodies]


def time_encoding(answer: object) -> float:
    began = time.perf_counter()
    msgspec.json.encode(answer)
    return time.perf_counter() - began


def best_page_times(rounds: Sequence[TimedList]) -> list[float]:
    """The best that was seen of each page: what is worse was somebody else's load."""
    return [min(pages) for pages in zip(*(each.seconds for each in rounds), strict=True)]


def rows(
    api: Sequence[TimedList], kubernetes: Sequence[TimedList], encoding: list[float]
) -> list[Measure]:
    pages, bare = best_page_times(api), best_page_times(kubernetes)
    what = f"list of {UNIT_COUNT:,} units against the server's own"
    whole = sum(bare) + sum(encoding)
    return [
        new_measure(f"{what}, pages of {PAGE_SIZE}", sum(pages), whole, "<= 1.3x"),
        new_measure(f"{what}, the first page", pages[0], bare[0] + encoding[0], "<= 1.3x"),
        new_measure(f"{what}, of which encoding", None, sum(encoding)),
    ]
