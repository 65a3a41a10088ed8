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
from tests.bench.library.storage_forms import STORAGE_FORMS, fill_store
from tests.bench.library.widget_crd import widgets_path
from tests.bench.table import Measure, new_measure


class DecodeCost(msgspec.Struct):
    """Per object, the store's key and the decoder's tables included and the list's body not."""

    microseconds: float
    rss: float
    traced: float


async def measure_footprint(connection: Connection) -> list[Measure]:
    """The floor of the memory: what msgspec alone needs, in each way to keep it."""
    rows = []
    with tempfile.NamedTemporaryFile() as body:
        body.write(await connection.get(widgets_path(), gzip=True))
        body.flush()
        for way in STORAGE_FORMS:
            cost = await measure_in_process(body.name, way)
            rows += [
                new_measure(f"bare decode: {way}", cost.microseconds / 1e6, None),
                new_measure(f"bare store: {way}, RSS", cost.rss, None, "<= 3,300 B", "B"),
                new_measure(f"bare store: {way}, traced", cost.traced, None, "", "B"),
            ]
    return rows


async def measure_in_process(body_path: str, storage_form: str) -> DecodeCost:
    """Measure in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.library.decode_cost", body_path, storage_form),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    return msgspec.json.decode(output, type=DecodeCost)


def measure_decode(body: bytes, storage_form: str) -> DecodeCost:
    """RSS first, while the process is still fresh."""
    gc.disable()
    before, began = resident_bytes(), time.process_time()
    decode = STORAGE_FORMS[storage_form]()
    store = fill_store(body, decode)
    seconds = time.process_time() - began
    objects = len(store)
    rss = (resident_bytes() - before) / objects
    del store
    tracemalloc.start()
    decode = STORAGE_FORMS[storage_form]()
    store = fill_store(body, decode)
    traced = tracemalloc.get_traced_memory()[0] / len(store)
    return DecodeCost(seconds / objects * 1e6, rss, traced)


def resident_bytes() -> int:
    """Bytes in use, after the collector ran and free pages went back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(psutil.Process().memory_info().rss)


if __name__ == "__main__":
    report = measure_decode(Path(sys.argv[1]).read_bytes(), sys.argv[2])
    sys.stdout.buffer.write(msgspec.json.encode(report))
