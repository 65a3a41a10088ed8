"""A control loop on a real server: level-triggered, at any speed and with any reconciler."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random

from prometheus_client import CollectorRegistry

from controller.runtime.cache.informer import Informer
from controller.runtime.client.client import Client
from controller.runtime.clock import SystemClock
from controller.runtime.key import ObjectKey
from controller.runtime.loop.control_loop import ControlLoop, LoopOptions
from controller.runtime.loop.enqueue import enqueue_handler, own_key
from controller.runtime.loop.metrics import LabelledLoopMetrics, LoopMetrics
from controller.runtime.loop.reconcile import Result
from controller.runtime.queue.ratelimit import ExponentialBackoff
from controller.runtime.queue.workqueue import WorkQueue
from tests.support.builders.config_maps import (
    CONFIG_MAPS,
    ConfigMap,
    config_map_manifest,
    new_informer,
)
from tests.support.checks.informer_checks import run_background
from tests.support.wait.eventually import eventually

Reconcile = Callable[[ObjectKey], Awaitable[None]]


class RecordingReconciler:
    """A reconciler that records the data of every object it gets; None if the object is gone."""

    def __init__(self, informer: Informer[ConfigMap], action: Reconcile | None = None) -> None:
        self._informer = informer
        self._action = action
        self.recorded: dict[str, list[dict[str, str] | None]] = {}
        self._busy: set[ObjectKey] = set()

    async def reconcile(self, key: ObjectKey) -> Result:
        assert key not in self._busy, f"{key} is with two workers"
        self._busy.add(key)
        try:
            config_map = self._informer.store.get(key)
            data = config_map.data if config_map else None
            self.recorded.setdefault(key.name, []).append(data)
            if self._action is not None:
                await self._action(key)
        finally:
            self._busy.discard(key)
        return Result()

    async def last(self, name: str) -> dict[str, str] | None:
        return self.recorded.get(name, [{}])[-1]


@asynccontextmanager
async def looping(
    informer: Informer[ConfigMap], reconciler: RecordingReconciler, deadline: float = 0.5
) -> AsyncIterator[None]:
    """Run a loop of four workerson the changes of the informer during the block."""
    clock, stop = SystemClock(), asyncio.Event()
    queue: WorkQueue[ObjectKey] = WorkQueue(ExponentialBackoff(0.01, 0.1), clock)
    informer.subscribe(enqueue_handler(queue, own_key()))
    metrics = LabelledLoopMetrics(LoopMetrics(CollectorRegistry()), "test")
    options = LoopOptions(
        "test", workers=4, reconcile_timeout_seconds=deadline, cancel_grace_seconds=0.2
    )
    loop = ControlLoop(options, queue, reconciler, metrics, clock, Random(7))
    async with run_background(informer), asyncio.TaskGroup() as group:
        group.create_task(loop.run(stop))
        try:
            yield
        finally:
            stop.set()


async def test_an_object_that_changes_faster_than_its_reconciles_is_reconciled_in_its_last_state(
    client: Client, namespace: str
) -> None:
    informer, changed = new_informer(client, namespace), asyncio.Event()

    async def outlast_the_changes(_: ObjectKey) -> None:
        await changed.wait()
        await asyncio.sleep(0.05)

    reconciler = RecordingReconciler(informer, action=outlast_the_changes)
    async with looping(informer, reconciler, deadline=60.0):
        for turn in range(100):
            last = await client.apply(
                CONFIG_MAPS, config_map_manifest(namespace, "busy", turn=str(turn))
            )
        key = ObjectKey(namespace, "busy")
        await eventually(lambda: asyncio.sleep(0, informer.store.get(key) == last))
        changed.set()
        await eventually(lambda: reconciler.last("busy"), lambda data: data == {"turn": "99"})
    assert len(reconciler.recorded["busy"]) < 100


async def test_a_deleted_object_is_reconciled_once_more(client: Client, namespace: str) -> None:
    informer = new_informer(client, namespace)
    reconciler = RecordingReconciler(informer)
    async with looping(informer, reconciler):
        await client.create(CONFIG_MAPS, config_map_manifest(namespace, "short"))
        await eventually(lambda: asyncio.sleep(0, "short" in reconciler.recorded))
        await client.delete(CONFIG_MAPS, ObjectKey(namespace, "short"))
        await eventually(lambda: reconciler.last("short"), lambda data: data is None)


async def test_a_failed_reconcile_is_retried_until_it_succeeds(
    client: Client, namespace: str
) -> None:
    informer, failures_left = new_informer(client, namespace), [3]

    async def fail_at_first(key: ObjectKey) -> None:
        if key.name == "flaky" and failures_left[0]:
            failures_left[0] -= 1
            raise RuntimeError("not yet")

    reconciler = RecordingReconciler(informer, action=fail_at_first)
    async with looping(informer, reconciler):
        await client.create(CONFIG_MAPS, config_map_manifest(namespace, "flaky"))
        await eventually(lambda: asyncio.sleep(0, len(reconciler.recorded.get("flaky", ())) >= 4))
    assert failures_left == [0]


async def test_a_hanging_reconcile_does_not_block_other_keys(
    client: Client, namespace: str
) -> None:
    informer = new_informer(client, namespace)

    async def hang(key: ObjectKey) -> None:
        if key.name.startswith("stuck"):
            await asyncio.Event().wait()

    reconciler = RecordingReconciler(informer, action=hang)
    async with looping(informer, reconciler):
        for number in range(4):
            await client.create(CONFIG_MAPS, config_map_manifest(namespace, f"stuck-{number}"))
        await client.create(CONFIG_MAPS, config_map_manifest(namespace, "fine", x="1"))
        await eventually(lambda: reconciler.last("fine"), lambda data: data == {"x": "1"})
