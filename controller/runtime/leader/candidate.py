"""One process that wants a lease: takes it, renews it and gives it back, one attempt at a time."""

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from controller.runtime.clock import Clock
from controller.runtime.clock_timeout import ClockTimeout
from controller.runtime.errors import ConflictError, KubeError
from controller.runtime.leader import rules
from controller.runtime.leader.lease import LeaseRecord
from controller.runtime.leader.metrics import LeaderMetrics
from controller.runtime.leader.rules import ElectionSettings, Observation

T = TypeVar("T")

log = logging.getLogger(__name__)


class ResourceLock(Protocol):
    """A record that several processes share; writes fail where it changed since it was seen."""

    @property
    def identity(self) -> str:
        """The name under which this process holds it, and no other process ever does."""
        ...

    async def get(self) -> LeaseRecord | None:
        """The record as it is now; None where there is none."""
        ...

    async def create(self, record: LeaseRecord) -> None:
        """Write the first record."""
        ...

    async def update(self, record: LeaseRecord) -> None:
        """Write over the record that was seen last."""
        ...


class Candidate:
    """Knows what it saw of the lease last; `observed.at` of an own record is when it was sent."""

    def __init__(
        self,
        lock: ResourceLock,
        settings: ElectionSettings,
        clock: Clock,
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
        """Whether the lease was ours when it was last seen."""
        return self.observed.record.holder == self.identity

    async def try_acquire_or_renew(self) -> bool:
        """Whether the lease could be taken or renewed now; failures of the API never raise."""
        try:
            return await self._acquire_or_renew()
        except (KubeError, TimeoutError) as error:
            log.warning("lease_not_had", extra=self._log_fields(error))
            return False
        finally:
            self._report_holder()

    async def release(self) -> None:
        """Give back what is ours, and only that; tried only by who may have written something."""
        if not self._may_be_holder:
            return
        try:
            async with ClockTimeout(self._clock, self._settings.renew_deadline_seconds):
                try:
                    await self._release_once()
                except ConflictError:  # a renewal that was under way when it was cancelled
                    await self._release_once()
        except (KubeError, TimeoutError) as error:
            log.warning("lease_not_released", extra=self._log_fields(error))

    async def _acquire_or_renew(self) -> bool:
        """client-go's algorithm of this name."""
        wanted = rules.new_lease_record(
            self.identity, self._settings.lease_duration_seconds, self._clock.now()
        )
        if await self._renew_without_read(wanted):
            return True
        record = await self._with_timeout(self._lock.get())
        if record is None:
            return await self._write_record(self._lock.create, wanted)
        now = self._clock.monotonic()
        self.observed = rules.observe(self.observed, record, now)
        if not rules.is_acquirable(self.observed, self.identity, now):
            return False
        if self.is_observed_holder:
            self._slow_path.inc()
        return await self._write_record(self._lock.update, rules.successor_record(wanted, record))

    async def _renew_without_read(self, new_record: LeaseRecord) -> bool:
        """The fast path: write over what we wrote last, if that is still there."""
        if not (self.is_observed_holder and self.observed.is_valid(self._clock.monotonic())):
            return False
        record = rules.renewed_record(new_record, self.observed.record)
        try:
            return await self._write_record(self._lock.update, record)
        except (KubeError, TimeoutError) as error:
            log.info("lease_not_renewed_unread", extra=self._log_fields(error))
            return False

    async def _release_once(self) -> None:
        # The holder is read from the server: what we saw last may have a successor by now.
        record = await self._with_timeout(self._lock.get())
        if record is not None and record.holder == self.identity:
            await self._write_record(
                self._lock.update, rules.released_record(record, self._clock.now())
            )
        self._may_be_holder = False

    async def _write_record(
        self, write: Callable[[LeaseRecord], Awaitable[None]], record: LeaseRecord
    ) -> bool:
        """True once it is written; raises otherwise, and then it may be written all the same."""
        sent = self._clock.monotonic()
        self._may_be_holder = True
        await self._with_timeout(write(record))
        self.observed = Observation(record, sent)
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
        return {"election": self._settings.name, "error": str(error) or "no answer in time"}
