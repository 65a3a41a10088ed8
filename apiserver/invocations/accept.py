"""Accepts an invocation: its record is written first, then its call is queued."""

import logging
from collections.abc import AsyncIterator, Callable
from functools import partial

from apiserver.errors import ConflictError, NotFoundError, QueueFullError
from apiserver.functions.lookup import FunctionLookup
from apiserver.invocations.backpressure import (
    QueueDepth,
    RecordSpace,
    queue_full_error,
    records_full_error,
)
from apiserver.invocations.commands import Invoke
from apiserver.invocations.metrics import InvocationMetrics
from apiserver.invocations.payload_upload import PayloadUploader
from apiserver.invocations.publish_outcome import publish_outcome
from apiserver.invocations.submission import (
    Acceptance,
    Submission,
    acceptance_unknown_error,
    invocation_of,
    is_record_of,
    new_record,
    orphaned_record,
    replay_acceptance,
    require_function_ttl_within_retention,
    require_ttl_within_retention,
    submission_error,
)
from apiserver.kube import errors as kube_errors
from apiserver.nats.errors import QueueError, QueueRejectedError, RecordConflictError
from apiserver.nats.port import QueuePorts, StoredRecord
from shared.clock import Clock
from shared.invocation.message import call_message
from shared.invocation.queue_names import record_key, request_object_name
from shared.invocation.record import InvocationRecord
from shared.time import now_ms
from shared.v1alpha1.function import Function

log = logging.getLogger(__name__)


class InvocationAcceptor:
    """Accepts invocations, each once, on any replica."""

    def __init__(
        self,
        queue: QueuePorts,
        function_lookup: FunctionLookup,
        record_space: RecordSpace,
        metrics: InvocationMetrics,
        clock: Clock,
        make_id: Callable[[], str],
        retention_seconds: float,
    ) -> None:
        self._queue = queue
        self._function_lookup = function_lookup
        self._metrics = metrics
        self._clock = clock
        self._make_id = make_id
        self._retention_seconds = retention_seconds
        self._queue_depth = QueueDepth(queue.calls, clock)
        self._record_space = record_space
        self._payload_uploader = PayloadUploader(queue.bodies, make_id)

    async def receive_payload(self, command: Invoke, chunks: AsyncIterator[bytes]) -> Submission:
        """Receive the payload of an invocation that is not accepted yet.

        NotFoundError, ConflictError, QueueFullError.
        """
        require_ttl_within_retention(command, self._retention_seconds)
        function = await self._function_lookup.get_accepting(command.function_name)
        require_function_ttl_within_retention(command, function.spec, self._retention_seconds)
        invocation_id = command.invocation_id or self._make_id()
        await self._require_capacity(function, command)
        inline_bytes = await self._record_space.reserve_inline_bytes()
        name = request_object_name(function.metadata.uid, invocation_id)
        require_unchanged = partial(self._function_lookup.require_unchanged, function)
        payload = await self._payload_uploader.receive(
            command.function_name, name, chunks, require_unchanged
        )
        return Submission(function, invocation_id, command, payload, inline_bytes)

    async def accept(self, submission: Submission) -> Acceptance:
        """Record and queue the invocation, or return the one that exists.

        NotFoundError, ConflictError, QueueFullError, AcceptanceUnknownError, QueueError, KubeError.
        """
        try:
            await self._function_lookup.require_unchanged(submission.function)
            acceptance = await self._accept(submission)
        except (
            kube_errors.KubeError,
            ConflictError,
            NotFoundError,
            QueueFullError,
            QueueRejectedError,
        ):
            await self._discard_payload(submission)
            raise
        if acceptance.is_new:
            self._metrics.count_accepted(submission.command.function_name)
        else:
            await self._discard_payload(submission)
        return acceptance

    async def _accept(self, submission: Submission) -> Acceptance:
        record = new_record(submission, now_ms(self._clock))
        try:
            written = await self._write_record(submission, record)
            if isinstance(written, StoredRecord):
                return replay_acceptance(submission, written, record.hash)
            await self._publish_call(submission, record, written)
        except QueueError as error:
            raise submission_error(submission, error) from error
        return Acceptance(invocation_of(submission, record), is_new=True)

    async def _write_record(
        self, submission: Submission, record: InvocationRecord
    ) -> int | StoredRecord:
        """Write the new record; return its revision, or the record that exists under its key."""
        revision = 0
        while True:
            try:
                return await self._queue.records.put(submission.key, record, revision)
            except RecordConflictError:
                stored = await self._queue.records.find(submission.key)
            if stored is not None and is_record_of(stored, submission.function):
                return stored
            revision = await self._finish_orphaned_record(submission, stored) if stored else 0

    async def _finish_orphaned_record(
        self, submission: Submission, stored_record: StoredRecord
    ) -> int:
        """Finish the record of a deleted function; return the revision to replace it at."""
        record = stored_record.record
        if record is None:
            return stored_record.revision
        try:
            if not record.is_final:
                record = orphaned_record(record, now_ms(self._clock))
                revision = await self._queue.records.put(
                    submission.key, record, stored_record.revision
                )
                self._metrics.count_finished(submission.command.function_name, record.state)
                stored_record = StoredRecord(record, revision)
            published = await publish_outcome(
                self._queue, invocation_of(submission, record), stored_record.revision
            )
        except RecordConflictError:
            return 0  # another process changed it: read it again
        return published.revision

    async def _publish_call(
        self, submission: Submission, record: InvocationRecord, revision: int
    ) -> None:
        """Queue the call; delete the record again if the queue refuses the call."""
        call = call_message(submission.command.function_name, submission.invocation_id, record)
        try:
            await self._queue.calls.publish(call)
        except QueueRejectedError as error:
            await self._retract_record(submission, revision, error)
        except QueueError as error:
            raise acceptance_unknown_error(
                submission.invocation_id
            ) from error  # recorded: the sweep continues

    async def _retract_record(
        self, submission: Submission, revision: int, queue_error: QueueRejectedError
    ) -> None:
        """Delete the record and raise the error; a record that has changed stays, accepted."""
        try:
            await self._queue.records.delete(submission.key, revision)
        except RecordConflictError:
            return
        except QueueError as error:
            raise acceptance_unknown_error(submission.invocation_id) from error
        raise queue_error

    async def _require_capacity(self, function: Function, command: Invoke) -> None:
        """Raise QueueFullError without room, except for an invocation that is already recorded."""
        capacity_error = await self._capacity_error(function)
        if capacity_error is None:
            return
        stored = None
        if command.invocation_id is not None:
            key = record_key(command.function_name, command.invocation_id)
            stored = await self._queue.records.find(key)
        if stored is None or not is_record_of(stored, function):
            raise capacity_error

    async def _capacity_error(self, function: Function) -> QueueFullError | None:
        """Return the error for a full queue or full records; None if there is room."""
        if not await self._queue_depth.has_room(function):
            return queue_full_error(function)
        return None if await self._record_space.has_space() else records_full_error()

    async def _discard_payload(self, submission: Submission) -> None:
        """Delete a payload that no record names; if that fails, it is deleted when it expires."""
        name = submission.payload.body.object_name
        if not name:
            return
        try:
            await self._queue.bodies.delete(submission.command.function_name, name)
        except QueueError as error:
            log.warning("payload_left", extra={"object": name, "queueError": str(error)})
