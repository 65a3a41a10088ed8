"""The measuring program of our library, with the arguments and reports of the anchor."""

import argparse
import asyncio
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import WatchScope
from controller.runtime.cache.store import Store
from controller.runtime.client.client import Client
from controller.runtime.client.connect import open_client
from controller.runtime.client.kind import Kind
from controller.runtime.clock import SystemClock
from controller.runtime.key import ObjectKey
from controller.runtime.loop.control_loop import ControlLoop, LoopOptions
from controller.runtime.loop.enqueue import enqueue_handler, own_key
from controller.runtime.loop.metrics import LabelledLoopMetrics, LoopMetrics
from controller.runtime.loop.reconcile import Result
from controller.runtime.queue.ratelimit import default_rate_limiter
from controller.runtime.queue.workqueue import WorkQueue
from tests.bench.library.contender import Contender
from tests.bench.library.decode_cost import resident_bytes
from tests.bench.library.typed_widget import Widget
from tests.bench.library.widget_crd import GROUP, PLURAL, VERSION
from tests.bench.reports import IdleReport, LatencyReport, SyncReport, summarise
from tests.support.checks.informer_checks import run_background

WIDGET_KIND = Kind(GROUP, VERSION, PLURAL, "Widget", Widget)


async def measure_sync(kubeconfig: Path, runs: int) -> SyncReport:
    """Fill an informer's store `runs` times; measure seconds and memory as the anchor does."""
    seconds: list[float] = []
    before = resident_bytes()
    async with connect_client(kubeconfig) as client:
        informer = widget_informer(client)
        for run in range(runs):
            informer = widget_informer(client) if run else informer
            began = time.perf_counter()
            async with run_background(informer):
                seconds.append(time.perf_counter() - began)
    objects = len(informer.store)
    return SyncReport(seconds, objects, rss_per_object=(resident_bytes() - before) / objects)


async def measure_latency(kubeconfig: Path) -> LatencyReport:
    """Write "ready" to stderr once synced, then measure changes until SIGINT, with one worker."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.set)
    clock = SystemClock()
    async with connect_client(kubeconfig) as client:
        informer, queue = widget_informer(client), new_queue(clock)
        reconciler = StampReconciler(informer.store)
        subscription = informer.subscribe(enqueue_handler(queue, own_key()))
        metrics = LabelledLoopMetrics(LoopMetrics(CollectorRegistry()), "bench")
        loop = ControlLoop(LoopOptions("bench"), queue, reconciler, metrics, clock, Random(7))
        async with run_background(informer), asyncio.TaskGroup() as group:
            group.create_task(loop.run(stop))
            await subscription.synced()
            sys.stderr.write("ready\n")
            await stop.wait()
    return summarise(reconciler.seconds)


async def measure_idle(kubeconfig: Path, namespace: str, seconds: float) -> IdleReport:
    """Sync, wait `seconds` while nothing changes, and measure the cost."""
    registry = CollectorRegistry()
    async with open_client(str(kubeconfig), "bench", registry, SystemClock()) as client:
        informer = widget_informer(client, namespace)
        async with run_background(informer):
            began = time.process_time()
            await asyncio.sleep(seconds)
            cpu_seconds = time.process_time() - began
    requests = [
        sample
        for family in registry.collect()
        for sample in family.samples
        if sample.name == "rest_client_requests_total"
    ]
    writes = sum(int(sample.value) for sample in requests if sample.labels["method"] != "GET")
    return IdleReport(len(informer.store), cpu_seconds, writes)


class StampReconciler:
    """A reconciler that only measures the age of the last change, as the anchor does."""

    def __init__(self, store: Store[Widget]) -> None:
        self._store = store
        self._started_at = time.time_ns()
        self._seen: dict[ObjectKey, str] = {}
        self.seconds: list[float] = []

    async def reconcile(self, key: ObjectKey) -> Result:
        now, widget = time.time_ns(), self._store.get(key)
        stamp = widget.spec.stamp if widget else "0"
        if int(stamp) > self._started_at and self._seen.get(key) != stamp:
            self._seen[key] = stamp
            self.seconds.append((now - int(stamp)) / 1e9)
        return Result()


async def time_work_queue(items: int) -> float:
    """Return the seconds of add, get and done for `items` items."""
    queue = new_queue(SystemClock())
    keys = [ObjectKey("bench", f"widget-{number}") for number in range(items)]
    began = time.perf_counter()
    for key in keys:
        queue.add(key)
        queue.done(await queue.get())
    return time.perf_counter() - began


def new_queue(clock: SystemClock) -> WorkQueue[ObjectKey]:
    return WorkQueue(default_rate_limiter(clock), clock)


def connect_client(kubeconfig: Path) -> AbstractAsyncContextManager[Client]:
    return open_client(str(kubeconfig), "bench", CollectorRegistry(), SystemClock())


def widget_informer(client: Client, namespace: str = "") -> Informer[Widget]:
    metrics = InformerMetrics(CollectorRegistry())
    return Informer(client, WatchScope(WIDGET_KIND, namespace), metrics, SystemClock(), Random(7))


def our_contender() -> Contender:
    """Return this module as a program, so that each measurement has a fresh process."""
    return Contender("ours", (sys.executable, "-m", "tests.bench.library.controller_library"))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ours")
    parser.add_argument("benchmark", choices=("sync", "latency", "idle"))
    parser.add_argument("-kubeconfig", type=Path, required=True)
    parser.add_argument("-resource")
    parser.add_argument("-runs", type=int, default=1)
    parser.add_argument("-seconds", type=float, default=10.0)
    parser.add_argument("-namespace", default="")
    options = parser.parse_args(arguments)
    measurements: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
        "sync": lambda: measure_sync(options.kubeconfig, options.runs),
        "latency": lambda: measure_latency(options.kubeconfig),
        "idle": lambda: measure_idle(options.kubeconfig, options.namespace, options.seconds),
    }
    report = asyncio.run(measurements[options.benchmark]())
    sys.stdout.buffer.write(msgspec.json.encode(report))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
