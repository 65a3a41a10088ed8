"""A long list of units through the API, beside the API server's own list and the encoding."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

from apiserver.units.manifest import unit_body
from apiserver.units.schemas import CreateUnitSchema
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import gpuunit
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec
from tests.bench.api.api_cluster import ApiPlane, api_plane, running_api
from tests.bench.api.create_calls import CREATES, INSTANCE, request, typed
from tests.bench.api.ready_stock import SPEC_NAME, ready_units, units_path
from tests.bench.controller.unit_load import STOCK
from tests.bench.table import Measure, measured
from tests.bench.usage import cpu, resident

UNITS = 5_000
PAGE = 500
ROUNDS = 5
SOURCE = GPUUnit(
    metadata=ObjectMeta(
        name="stock-1", namespace=STOCK, uid="7d3a0a54-6f1c-4b53-9f0c-5a3f4d1c2b00"
    ),
    spec=GPUUnitSpec(spec_name=SPEC_NAME, cpu="1", memory="8Gi", gpu=1),
)


class ListMeta(msgspec.Struct):
    """Where a list goes on."""

    token: str = msgspec.field(name="continue", default="")


class BarePage(msgspec.Struct):
    """A page as Kubernetes sends it."""

    metadata: ListMeta
    items: list[msgspec.Raw]


class OurPage(msgspec.Struct):
    """A page as the API sends it."""

    meta: ListMeta
    data: list[dict[str, Any]]


@dataclass
class Listed:
    """Seconds for each page, and all that the pages held."""

    seconds: list[float]
    bodies: list[bytes]


async def listing_measures() -> list[Measure]:
    """In turns, and of each side the best of its rounds."""
    async with api_plane() as cluster, running_api(cluster.plane) as api:
        await ready_units(cluster.admin, INSTANCE, [a_users_unit(n) for n in range(UNITS)])
        ours, floor = list[Listed](), list[Listed]()
        before = cpu(api.process)
        for _ in range(ROUNDS):
            floor.append(await bare_list(cluster))
            ours.append(await our_list(api.session))
        spent = (cpu(api.process) - before) / ROUNDS
        return [
            *rows(ours, floor, encoding(ours[0].bodies)),
            measured(f"CPU of the API to list {UNITS:,} units", spent, None),
            measured(
                f"RSS of the API after lists of {UNITS:,} units",
                resident(api.process),
                None,
                "",
                "MiB",
            ),
        ]


def a_users_unit(number: int) -> dict[str, Any]:
    """A unit such as the API makes."""
    command = CreateUnitSchema().read(request(f"unit-{number:05d}"))
    return typed(gpuunit.KIND, unit_body(command, SOURCE))


async def bare_list(cluster: ApiPlane) -> Listed:
    """What the API server takes by itself."""
    path = units_path(INSTANCE)
    return await listed(
        lambda token: cluster.bare.get(path, gzip=False, limit=str(PAGE), **continued(token)),
        lambda body: msgspec.json.decode(body, type=BarePage).metadata.token,
    )


async def our_list(session: aiohttp.ClientSession) -> Listed:
    """The same through the API."""

    async def page(token: str) -> bytes:
        async with session.get(CREATES, params={"limit": PAGE, **continued(token)}) as response:
            response.raise_for_status()
            return await response.read()

    return await listed(page, lambda body: msgspec.json.decode(body, type=OurPage).meta.token)


async def listed(
    page: Callable[[str], Awaitable[bytes]], token_of: Callable[[bytes], str]
) -> Listed:
    """Page after page; only the time for the answers counts."""
    found, token = Listed([], []), ""
    while token or not found.bodies:
        began = time.perf_counter()
        body = await page(token)
        found.seconds.append(time.perf_counter() - began)
        found.bodies.append(body)
        token = token_of(body)
    return found


def continued(token: str) -> dict[str, str]:
    return {"continue": token} if token else {}


def encoding(bodies: Sequence[bytes]) -> list[float]:
    """Seconds to write each answer as JSON, once everything that it says is at hand."""
    return [min(encoded(msgspec.json.decode(body)) for _ in range(ROUNDS)) for body in bodies]


def encoded(answer: object) -> float:
    began = time.perf_counter()
    msgspec.json.encode(answer)
    return time.perf_counter() - began


def best(rounds: Sequence[Listed]) -> list[float]:
    """The best that was seen of each page: what is worse was somebody else's load."""
    return [min(pages) for pages in zip(*(each.seconds for each in rounds), strict=True)]


def rows(ours: Sequence[Listed], floor: Sequence[Listed], encoding: list[float]) -> list[Measure]:
    pages, bare = best(ours), best(floor)
    what = f"list of {UNITS:,} units against the server's own"
    whole = sum(bare) + sum(encoding)
    return [
        measured(f"{what}, pages of {PAGE}", sum(pages), whole, "<= 1.3x"),
        measured(f"{what}, the first page", pages[0], bare[0] + encoding[0], "<= 1.3x"),
        measured(f"{what}, of which encoding", None, sum(encoding)),
    ]
