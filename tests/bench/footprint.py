"""What a decoded list costs by itself, in a fresh process: time, RSS and traced bytes an object."""

import asyncio
import ctypes
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil

from tests.bench.sharing import Sharing
from tests.bench.typed import Metadata, Widget


class Footprint(msgspec.Struct):
    """Per object, the store's key included and the list's body not."""

    microseconds: float
    rss: float
    traced: float


class Body(msgspec.Struct):
    """A list cut into its items, so that what one item leaves over serves the next."""

    items: list[msgspec.Raw]


class Halfway(msgspec.Struct, frozen=True, gc=False):
    """Decoded as far as a store needs it; the rest is bytes until somebody reads it."""

    metadata: Metadata
    spec: msgspec.Raw
    status: msgspec.Raw


Store = dict[tuple[str, str], Widget | Halfway]


def typed(body: bytes) -> Iterator[Widget]:
    decode = msgspec.json.Decoder(Widget).decode
    return (decode(item) for item in msgspec.json.decode(body, type=Body).items)


def shared(body: bytes) -> Iterator[Widget]:
    share = Sharing(Widget)
    for widget in typed(body):
        share(widget)
        yield widget


def halfway(body: bytes) -> Iterator[Halfway]:
    decode = msgspec.json.Decoder(Halfway).decode
    for item in msgspec.json.decode(body, type=Body).items:
        part = decode(item)
        yield Halfway(part.metadata, part.spec.copy(), part.status.copy())


WAYS: dict[str, Callable[[bytes], Iterator[Widget | Halfway]]] = {
    "typed": typed,
    "typed, equal parts shared": shared,
    "metadata typed, the rest bytes": halfway,
}


def filled(body: bytes, way: str) -> Store:
    """A store as an informer would keep it."""
    return {(value.metadata.namespace, value.metadata.name): value for value in WAYS[way](body)}


def measure(body: bytes, way: str) -> Footprint:
    """RSS first, while the process is still fresh."""
    gc.disable()
    before, began = resident(), time.process_time()
    store = filled(body, way)
    seconds = time.process_time() - began
    objects = len(store)
    rss = (resident() - before) / objects
    del store
    tracemalloc.start()
    store = filled(body, way)
    traced = tracemalloc.get_traced_memory()[0] / objects
    del store
    return Footprint(seconds / objects * 1e6, rss, traced)


def resident() -> int:
    """Bytes in use, after the collector ran and free pages went back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(psutil.Process().memory_info().rss)


async def footprint(body: Path, way: str) -> Footprint:
    """Measure in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.footprint", str(body), way),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    return msgspec.json.decode(output, type=Footprint)


if __name__ == "__main__":
    report = measure(Path(sys.argv[1]).read_bytes(), sys.argv[2])
    sys.stdout.buffer.write(msgspec.json.encode(report))
