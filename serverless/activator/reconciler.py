"""Brings each function to the number of workers that its queue needs, one step at a time."""

from dataclasses import dataclass
from typing import Final

import msgspec

from controller.runtime.cache.cache import Cache
from controller.runtime.cache.writer import Writer
from controller.runtime.client.kind import key_of
from controller.runtime.clock import Clock
from controller.runtime.errors import ConflictError, NotFoundError
from controller.runtime.events.event import reference
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from controller.runtime.loop.reconcile import ReconcileError, Result
from serverless.activator.kinds import FUNCTIONS
from serverless.activator.metrics import Measures
from serverless.activator.scaling.cold_starts import ColdStarts
from serverless.activator.scaling.observed_worker import Worker, WorkerState
from serverless.activator.scaling.plan import Plan, Scene, Why, needs_after, plan
from serverless.activator.scaling.snapshot import Memory, Sights, is_asking
from serverless.activator.scaling.status import message_of, status
from serverless.activator.scaling.worker_creation import Asking, Settled
from serverless.activator.sweep.finalizer import Ending, Intent, intent_of, wait_ms
from serverless.activator.sweep.function_existence import Homes
from serverless.activator.timestamps import now_ms
from serverless.activator.workers.queue_resources import Outfit, WorkerSecrets
from serverless.activator.workers.runtime_api import UnitsAPI
from serverless.nats.errors import QueueError
from shared.k8s import merge_patch
from shared.v1alpha1 import names
from shared.v1alpha1.function import Function, FunctionStatus
from shared.v1alpha1.phases import FunctionPhase
from shared.v1alpha1.reasons import EventReason
from shared.v1alpha1.wellknown import QUEUE_FINALIZER

LOOK_AGAIN: Final = Result(requeue_after=0.5)
NEXT_STEP_SECONDS: Final = 1.0
UNREADY_SECONDS: Final = 10.0
ENDING_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Hands:
    """With what the reconciler acts."""

    outfit: Outfit
    secrets: WorkerSecrets
    api: UnitsAPI
    asking: Asking
    ending: Ending
    homes: Homes
    cold_starts: ColdStarts
    writer: Writer
    recorder: EventRecorder


class FunctionReconciler:
    """Looks at one function, does one thing about its workers and says how it stands."""

    def __init__(
        self,
        functions: Cache[Function],
        sights: Sights,
        hands: Hands,
        measures: Measures,
        clock: Clock,
    ) -> None:
        self._functions = functions
        self._sights = sights
        self._hands = hands
        self._measures = measures
        self._clock = clock
        self._memories: dict[str, Memory] = {}

    async def reconcile(self, key: ObjectKey) -> Result:
        """One step; what the queue and the units do brings the next."""
        function = self._functions.get(key)
        try:
            if function is None:
                return await self._clean_up(key)
            if function.metadata.deletion_timestamp is not None:
                return await self._end(function)
            if QUEUE_FINALIZER not in function.metadata.finalizers:
                await self._set_finalizers(
                    function, (*function.metadata.finalizers, QUEUE_FINALIZER)
                )
                return LOOK_AGAIN
            return await self._keep(function)
        except QueueError as error:
            raise ReconcileError(str(error)) from error
        except (ConflictError, NotFoundError):
            return LOOK_AGAIN

    async def _clean_up(self, key: ObjectKey) -> Result:
        """What is left of a function that is gone; the server knows whether it is."""
        self._forget(key.name)
        if await self._hands.homes.stands(key.name):
            return LOOK_AGAIN
        is_clean = await self._hands.ending.clean_up(key.name)
        return Result() if is_clean else Result(requeue_after=UNREADY_SECONDS)

    async def _end(self, function: Function) -> Result:
        if QUEUE_FINALIZER not in function.metadata.finalizers:
            return Result()
        if intent_of(function) is Intent.DRAIN:
            await self._keep(function)
        if await self._hands.ending.advance(function):
            left = [each for each in function.metadata.finalizers if each != QUEUE_FINALIZER]
            fresh = self._functions.get(key_of(function)) or function
            await self._set_finalizers(fresh, left)
            self._forget(function.metadata.name)
            return Result()
        pause = wait_ms(function, now_ms(self._clock)) / 1000
        is_drain = intent_of(function) is Intent.DRAIN
        return Result(requeue_after=ENDING_SECONDS if is_drain else max(pause, ENDING_SECONDS))

    async def _keep(self, function: Function) -> Result:
        consumer = await self._hands.outfit.ensure(function)
        await self._hands.secrets.ensure_once(function)
        if consumer is None:
            return LOOK_AGAIN
        memory = self._memories.setdefault(function.metadata.name, Memory())
        scene = self._sights.of(function, consumer.load, memory)
        self._measures.seen(function.metadata.name, scene)
        wanted = plan(scene)
        memory.needs = needs_after(scene)
        settled = await self._act(function, scene, wanted, memory)
        function = self._functions.get(key_of(function)) or function
        after = self._sights.of(function, consumer.load, memory)
        await self._report(function, after, wanted, memory, settled)
        await self._hands.cold_starts.follow(function.metadata.name, scene, memory)
        return Result(requeue_after=self._pause(after, wanted, memory))

    async def _act(self, function: Function, scene: Scene, wanted: Plan, memory: Memory) -> Settled:
        """The one thing to do now; whether the making of the last worker is over."""
        if wanted.remove is not None:
            await self._remove(function, wanted.remove, wanted.why, memory)
        if is_asking(function) and not scene.is_asking:
            self._tell_made(function, memory)
            return Settled(is_over=True)
        if scene.is_asking or wanted.create:
            await self._hands.secrets.ensure(function)  # a worker does not start without it
            is_needed = scene.count <= wanted.desired
            return await self._hands.asking.ask(function, is_needed, memory)
        memory.trouble = None
        return Settled(is_over=False)

    async def _remove(
        self, function: Function, worker: Worker, why: Why | None, memory: Memory
    ) -> None:
        if await self._hands.api.delete(worker.name, worker.tag):
            memory.removed.add(worker.tag)
            about = reference(FUNCTIONS, function)
            said = f"removed worker {worker.name}: {why}"
            self._hands.recorder.normal(about, EventReason.SCALED_DOWN, said)

    def _tell_made(self, function: Function, memory: Memory) -> None:
        memory.trouble = None
        said = f"made worker {names.worker(function.metadata.name, function.status.worker_counter)}"
        about = reference(FUNCTIONS, function)
        self._hands.recorder.normal(about, EventReason.SCALED_UP, said)

    async def _report(
        self, function: Function, scene: Scene, wanted: Plan, memory: Memory, settled: Settled
    ) -> None:
        new = status(function, scene, wanted.desired, memory.trouble, self._clock.now())
        if settled.is_over:
            new = msgspec.structs.replace(new, settled_counter=function.status.worker_counter)
        await self._write(function, new)

    async def _write(self, function: Function, new: FunctionStatus) -> None:
        changes = merge_patch.between(function.status, new)
        if not changes:
            return
        seen = {"resourceVersion": function.metadata.resource_version}
        body = {"metadata": seen, "status": changes}
        await self._hands.writer.patch(FUNCTIONS, key_of(function), body, "status")
        is_bad = new.phase in (FunctionPhase.DEGRADED, FunctionPhase.FAILED)
        if is_bad and function.status.phase != new.phase:
            about = reference(FUNCTIONS, function)
            self._hands.recorder.warning(about, EventReason.FAILED, message_of(new))

    def _pause(self, scene: Scene, wanted: Plan, memory: Memory) -> float | None:
        """When to look again though nothing has happened."""
        pauses = [] if wanted.wake_ms is None else [wanted.wake_ms / 1000]
        if memory.trouble is not None:
            pauses.append(max(memory.trouble.again_at - self._clock.monotonic(), 0.1))
        elif scene.is_asking or wanted.create or wanted.remove:
            pauses.append(NEXT_STEP_SECONDS)
        if any(each.state is not WorkerState.READY for each in scene.workers):
            pauses.append(UNREADY_SECONDS)
        return min(pauses, default=None)

    async def _set_finalizers(
        self, function: Function, finalizers: "tuple[str, ...] | list[str]"
    ) -> None:
        seen = {"resourceVersion": function.metadata.resource_version}
        body = {"metadata": {**seen, "finalizers": list(finalizers)}}
        await self._hands.writer.patch(FUNCTIONS, key_of(function), body)

    def _forget(self, request_id: str) -> None:
        self._memories.pop(request_id, None)
        self._sights.forget(request_id)
        self._hands.secrets.forget(request_id)
        self._measures.forget(request_id)
