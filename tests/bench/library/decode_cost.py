"""What a decoded list costs by itself, in a fresh process: time, RSS and traced bytes an object."""

import asyncio
import ctypes
import gc
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import msgspec
import psutil

from tests.bench.connection import Connection
from tests.bench.library.storage_forms import WAYS, filled
from tests.bench.library.widget_crd import collection
from tests.bench.table import Measure, measured


class Footprint(msgspec.Struct):
    """Per object, the store's key and the decoder's tables included and the list's body not."""

    microseconds: float
    rss: float
    traced: float


async def footprint_measures(connection: Connection) -> list[Measure]:
    """The floor of the memory: what msgspec alone needs, in each way to keep it."""
    rows = []
    with tempfile.NamedTemporaryFile() as body:
        body.write(await connection.get(collection(), gzip=True))
        body.flush()
        for way in WAYS:
            cost = await footprint(body.name, way)
            rows += [
                measured(f"bare decode: {way}", cost.microseconds / 1e6, None),
                measured(f"bare store: {way}, RSS", cost.rss, None, "<= 3,300 B", "B"),
                measured(f"bare store: {way}, traced", cost.traced, None, "", "B"),
            ]
    return rows


async def footprint(body: str, way: str) -> Footprint:
    """Measure in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.library.decode_cost", body, way),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    return msgspec.json.decode(output, type=Footprint)


def measure(body: bytes, way: str) -> Footprint:
    """RSS first, while the process is still fresh."""
    gc.disable()
    before, began = resident(), time.process_time()
    decode = WAYS[way]()
    store = filled(body, decode)
    seconds = time.process_time() - began
    objects = len(store)
    rss = (resident() - before) / objects
    del store
    tracemalloc.start()
    decode = WAYS[way]()
    store = filled(body, decode)
    traced = tracemalloc.get_traced_memory()[0] / len(store)
    return Footprint(seconds / objects * 1e6, rss, traced)


def resident() -> int:
    """Bytes in use, after the collector ran and free pages went back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(psutil.Process().memory_info().rss)


if __name__ == "__main__":
    report = measure(Path(sys.argv[1]).read_bytes(), sys.argv[2])
    sys.stdout.buffer.write(msgspec.json.encode(report))
