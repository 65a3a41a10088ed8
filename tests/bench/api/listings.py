"""A long list of units through the API, compared with the API server's own and the encoding."""

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
    """The continue token of a page."""

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
    """The seconds and bodies of all pages of a list."""

    seconds: list[float]
    bodies: list[bytes]


async def measure_listings() -> list[Measure]:
    """Measure both sides in turns; return the best round of each."""
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
    """Return a unit as the API creates it."""
    command = CreateUnitSchema().parse(create_request(f"unit-{number:05d}"))
    return with_type(gpuunit.KIND, unit_manifest(command, SOURCE_STOCK))


async def time_kubernetes_list(cluster: ApiBenchCluster) -> TimedList:
    """Time the list of the API server."""
    path = units_path(INSTANCE)
    return await time_pages(
        lambda token: cluster.api_account_connection.get(
            path, gzip=False, limit=str(PAGE_SIZE), **continue_query(token)
        ),
        lambda body: msgspec.json.decode(body, type=KubernetesPage).metadata.token,
    )


async def time_api_list(session: aiohttp.ClientSession) -> TimedList:
    """Time the same list through the API."""

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
    """Fetch page after page; only the time of the requests counts."""
    timed, token = TimedList([], []), ""
    while token or not timed.bodies:
        began = time.perf_counter()
        body = await fetch_page(token)
        timed.seconds.append(time.perf_counter() - began)
        timed.bodies.append(body)
        token = token_of(body)
    return timed


def continue_query(token: str) -> dict[str, str]:
    return {"continue": token} if token else {}


def encoding_times(bodies: Sequence[bytes]) -> list[float]:
    """Return the seconds to encode each page as JSON, without collecting its values."""
    return [min(time_encoding(msgspec.json.decode(body)) for _ in range(ROUNDS)) for body in bodies]


def time_encoding(page: object) -> float:
    began = time.perf_counter()
    msgspec.json.encode(page)
    return time.perf_counter() - began


def best_page_times(rounds: Sequence[TimedList]) -> list[float]:
    """Return the best time of each page: worse ones are due to other load on the machine."""
    return [min(pages) for pages in zip(*(timed.seconds for timed in rounds), strict=True)]


def rows(
    api: Sequence[TimedList], kubernetes: Sequence[TimedList], encoding: list[float]
) -> list[Measure]:
    pages, bare_pages = best_page_times(api), best_page_times(kubernetes)
    title = f"list of {UNIT_COUNT:,} units against the server's own"
    bare_total = sum(bare_pages) + sum(encoding)
    return [
        new_measure(f"{title}, pages of {PAGE_SIZE}", sum(pages), bare_total, "<= 1.3x"),
        new_measure(f"{title}, the first page", pages[0], bare_pages[0] + encoding[0], "<= 1.3x"),
        new_measure(f"{title}, only the encoding", None, sum(encoding)),
    ]
