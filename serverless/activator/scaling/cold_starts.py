"""Measures cold starts: from the acceptance of an invocation without a worker to its run."""

from contextlib import suppress

from prometheus_client import Histogram

from serverless.activator.scaling.plan import ScalingSnapshot
from serverless.activator.scaling.snapshot import ScalingState
from serverless.activator.scaling.status import ready_workers
from serverless.activator.sweep.invocation_store import InvocationStore, try_decode_record
from serverless.nats.errors import QueueError
from shared.invocation.record import InvocationRecord
from shared.invocation.state import InvocationState


class ColdStartTimer:
    """Follows the first invocation of a function without a worker, by its record.

    The run may begin and end between two polls of the queue; the record contains the times.
    """

    def __init__(self, invocation_store: InvocationStore, histogram: Histogram) -> None:
        self._invocation_store = invocation_store
        self._histogram = histogram

    async def observe(
        self, function_name: str, snapshot: ScalingSnapshot, scaling_state: ScalingState
    ) -> None:
        """Remember the first queued invocation, or measure its wait; ignore errors."""
        with suppress(QueueError):
            if scaling_state.cold_record_key is None and is_cold_start(snapshot):
                scaling_state.cold_record_key = await self._invocation_store.oldest_queued_key(
                    function_name
                )
            elif scaling_state.cold_record_key is not None and (
                snapshot.load.running or not snapshot.load.queued
            ):
                await self._measure(scaling_state.cold_record_key, scaling_state)

    async def _measure(self, record_key: str, scaling_state: ScalingState) -> None:
        stored = await self._invocation_store.get_record(record_key)
        record = None if stored is None else try_decode_record(stored)
        if record is not None and record.state is InvocationState.QUEUED:
            return  # a worker has its message, or it is about to be redelivered
        scaling_state.cold_record_key = None
        if record is not None and is_first_run(record):
            self._histogram.observe((record.started_at - record.accepted_at) / 1000)


def is_cold_start(snapshot: ScalingSnapshot) -> bool:
    """Whether there is work and no worker for it."""
    return (
        bool(snapshot.load.queued)
        and not snapshot.load.running
        and not ready_workers(snapshot.active_workers)
    )


def is_first_run(record: InvocationRecord) -> bool:
    """Whether the record shows when it ran first; a clock may be wrong."""
    return record.attempts == 1 and record.started_at >= record.accepted_at
