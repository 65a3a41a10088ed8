"""A candidate of an election: acquires, renews and releases a lease, one attempt at a time."""

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from controller.runtime.clock import TimerClock
from controller.runtime.clock_timeout import ClockTimeout
from controller.runtime.errors import ConflictError, KubeError
from controller.runtime.leader import rules
from controller.runtime.leader.lease import LeaseRecord
from controller.runtime.leader.metrics import LeaderMetrics
from controller.runtime.leader.rules import ElectionSettings, Observation

T = TypeVar("T")

log = logging.getLogger(__name__)


class ResourceLock(Protocol):
    """A record that several processes share; a write fails if it changed since it was read."""

    @property
    def identity(self) -> str:
        """Name of this process as a holder, unique to the process."""
        ...

    async def get(self) -> LeaseRecord | None:
        """Return the current record; None if there is none."""
        ...

    async def create(self, record: LeaseRecord) -> None:
        """Create the record."""
        ...

    async def update(self, record: LeaseRecord) -> None:
        """Replace the record that was read or written last."""
        ...


class Candidate:
    """Keeps the last observation of the lease; a record of ours is observed when it is sent."""

    def __init__(
        self,
        lock: ResourceLock,
        settings: ElectionSettings,
        clock: TimerClock,
        metrics: LeaderMetrics,
        on_new_leader: Callable[[str], None],
    ) -> None:
        if not lock.identity:
            raise rules.ElectionSettingsError("a candidate must have an identity")
        self.identity = lock.identity
        self.observed: Observation = rules.NO_OBSERVATION
        self._lock = lock
        self._settings = settings
        self._clock = clock
        self._slow_path = metrics.slow_path.labels(settings.name)
        self._on_new_leader = on_new_leader
        self._reported_holder: str | None = None
        self._may_be_holder = False

    @property
    def is_observed_holder(self) -> bool:
        """Whether this process held the lease at the last observation."""
        return self.observed.record.holder == self.identity

    async def try_acquire_or_renew(self) -> bool:
        """Try once to acquire or renew the lease; return whether it succeeded, without raising."""
        try:
            return await self._acquire_or_renew()
        except (KubeError, TimeoutError) as error:
            log.warning("lease_not_had", extra=self._log_fields(error))
            return False
        finally:
            self._report_holder()

    async def release(self) -> None:
        """Release the lease if this process holds it; no request if it never wrote one."""
        if not self._may_be_holder:
            return
        try:
            async with ClockTimeout(self._clock, self._settings.renew_deadline_seconds):
                try:
                    await self._release_once()
                except ConflictError:  # a cancelled renewal was written after all
                    await self._release_once()
        except (KubeError, TimeoutError) as error:
            log.warning("lease_not_released", extra=self._log_fields(error))

    async def _acquire_or_renew(self) -> bool:
        """Run client-go's tryAcquireOrRenew."""
        new_record = rules.new_lease_record(
            self.identity, self._settings.lease_duration_seconds, self._clock.now()
        )
        if await self._renew_without_read(new_record):
            return True
        record = await self._with_timeout(self._lock.get())
        if record is None:
            return await self._write_record(self._lock.create, new_record)
        now = self._clock.monotonic()
        self.observed = rules.observe(self.observed, record, now)
        if not rules.is_acquirable(self.observed, self.identity, now):
            return False
        if self.is_observed_holder:
            self._slow_path.inc()
        return await self._write_record(
            self._lock.update, rules.successor_record(new_record, record)
        )

    async def _renew_without_read(self, new_record: LeaseRecord) -> bool:
        """Replace our last record without reading it first: the fast path."""
        if not (self.is_observed_holder and self.observed.is_valid(self._clock.monotonic())):
            return False
        record = rules.renewed_record(new_record, self.observed.record)
        try:
            return await self._write_record(self._lock.update, record)
        except (KubeError, TimeoutError) as error:
            log.info("lease_not_renewed_unread", extra=self._log_fields(error))
            return False

    async def _release_once(self) -> None:
        # Read the holder from the server: our last observation may be outdated.
        record = await self._with_timeout(self._lock.get())
        if record is not None and record.holder == self.identity:
            await self._write_record(
                self._lock.update, rules.released_record(record, self._clock.now())
            )
        self._may_be_holder = False

    async def _write_record(
        self, write: Callable[[LeaseRecord], Awaitable[None]], record: LeaseRecord
    ) -> bool:
        """Write and return True; after an error the record may have been written too."""
        sent_at = self._clock.monotonic()
        self._may_be_holder = True
        await self._with_timeout(write(record))
        self.observed = Observation(record, sent_at)
        return True

    async def _with_timeout(self, call: Awaitable[T]) -> T:
        async with ClockTimeout(self._clock, self._settings.request_timeout_seconds):
            return await call

    def _report_holder(self) -> None:
        holder = self.observed.record.holder
        if self.observed is not rules.NO_OBSERVATION and holder != self._reported_holder:
            self._reported_holder = holder
            self._on_new_leader(holder)

    def _log_fields(self, error: Exception) -> dict[str, str]:
        return {"election": self._settings.name, "error": str(error) or "no response in time"}
