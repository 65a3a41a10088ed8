"""Lease in memory with resourceVersions, and locks on it whose calls can fail."""

import asyncio
import enum
from collections import defaultdict, deque

from controller.runtime.errors import AlreadyExistsError, ConflictError, UnreachableError
from controller.runtime.leader.lease import LeaseRecord
from tests.support.clocks.virtual_clock import VirtualClock


class LockFault(enum.Enum):
    """Effect of a fault on one call."""

    FAILS = "no write, and an error"
    RESPONSE_LOST = "a write, and an error"
    HANGS = "no write, and no response"
    HANGS_AFTER_WRITE = "a write, and no response"
    OTHER_WRITE_FOLLOWS = "a write, and another write immediately after it"


class FakeLease:
    """Lease on the server: one lease record or none, and the number of its writes."""

    def __init__(self, record: LeaseRecord | None = None) -> None:
        self.record = record
        self.version = 1
        self.calls: list[str] = []

    def write(self, record: LeaseRecord | None) -> None:
        self.record = record
        self.version += 1

    @property
    def holder(self) -> str | None:
        return self.record.holder if self.record else None


class FakeLeaseLock:
    """Lease lock of one process; `faults` apply to one call each, `permanent_fault` to all."""

    def __init__(self, lease: FakeLease, identity: str, clock: VirtualClock) -> None:
        self.identity = identity
        self.faults: defaultdict[str, deque[LockFault]] = defaultdict(deque)
        self.permanent_fault: LockFault | None = None
        self.response_seconds = 0.0
        self._lease = lease
        self._clock = clock
        self._version = 0

    async def get(self) -> LeaseRecord | None:
        fault = await self._begin_call("get")
        record, version = self._lease.record, self._lease.version
        await self._finish_call(fault)
        if record is not None:
            self._version = version
        return record

    async def create(self, record: LeaseRecord) -> None:
        fault = await self._begin_call("create")
        if self._lease.record is not None:
            raise AlreadyExistsError("the lease exists", status=409)
        await self._write(record, fault)

    async def update(self, record: LeaseRecord) -> None:
        fault = await self._begin_call("update")
        if self._lease.record is None or self._lease.version != self._version:
            raise ConflictError("the lease has changed", status=409)
        await self._write(record, fault)

    async def _write(self, record: LeaseRecord, fault: LockFault | None) -> None:
        self._lease.write(record)
        version = self._lease.version
        await self._finish_call(fault)
        self._version = version

    async def _begin_call(self, call: str) -> LockFault | None:
        self._lease.calls.append(call)
        fault = self.faults[call].popleft() if self.faults[call] else self.permanent_fault
        if fault is LockFault.FAILS:
            raise UnreachableError("no connection")
        if fault is LockFault.HANGS:
            await asyncio.Event().wait()
        return fault

    async def _finish_call(self, fault: LockFault | None) -> None:
        if self.response_seconds:
            await self._clock.sleep(self.response_seconds)
        if fault is LockFault.RESPONSE_LOST:
            raise UnreachableError("the connection broke")
        if fault is LockFault.OTHER_WRITE_FOLLOWS:
            self._lease.write(self._lease.record)
        if fault is LockFault.HANGS_AFTER_WRITE:
            await asyncio.Event().wait()
