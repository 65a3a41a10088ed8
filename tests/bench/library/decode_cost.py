"""The cost of a decoded list alone, in a fresh process: time, RSS and traced bytes an object."""

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
    """The cost of an object, with its key and the decoder, without the list's body."""

    microseconds: float
    rss: float
    traced: float


async def measure_footprint(connection: Connection) -> list[Measure]:
    """Measure the lower bound of memory: msgspec alone, in each storage form."""
    rows = []
    with tempfile.NamedTemporaryFile() as body:
        body.write(await connection.get(widgets_path(), gzip=True))
        body.flush()
        for form in STORAGE_FORMS:
            cost = await measure_in_process(body.name, form)
            rows += [
                new_measure(f"bare decode: {form}", cost.microseconds / 1e6, None),
                new_measure(f"bare store: {form}, RSS", cost.rss, None, "<= 3,300 B", "B"),
                new_measure(f"bare store: {form}, traced", cost.traced, None, "", "B"),
            ]
    return rows


async def measure_in_process(body_path: str, storage_form: str) -> DecodeCost:
    """Measure in a separate process."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.library.decode_cost", body_path, storage_form),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    return msgspec.json.decode(output, type=DecodeCost)


def measure_decode(body: bytes, storage_form: str) -> DecodeCost:
    """Measure RSS first, while the process is fresh, then traced bytes."""
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
    """Return the resident bytes after garbage collection and a trim of the heap."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(psutil.Process().memory_info().rss)


if __name__ == "__main__":
    report = measure_decode(Path(sys.argv[1]).read_bytes(), sys.argv[2])
    sys.stdout.buffer.write(msgspec.json.encode(report))
