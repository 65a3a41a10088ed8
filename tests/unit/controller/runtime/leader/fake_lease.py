"""A lease in memory with resourceVersions, and locks on it whose calls can go wrong."""

import asyncio
import enum
from collections import defaultdict, deque

from controller.runtime.errors import AlreadyExistsError, ConflictError, UnreachableError
from controller.runtime.leader.lease import LeaseRecord
from tests.support.clocks.virtual_clock import VirtualClock


class Fault(enum.Enum):
    """What becomes of one call."""

    FAILS = "nothing happens and the caller is told"
    LOSES_ITS_ANSWER = "it happens and the caller is told that it failed"
    HANGS = "nothing happens and nobody is told"
    HANGS_AFTERWARDS = "it happens and nobody is told"
    IS_OVERTAKEN = "it happens, and another write right after it"


class MemoryLease:
    """What the server has: one record or none, and how often it was written."""

    def __init__(self, record: LeaseRecord | None = None) -> None:
        self.record = record
        self.version = 1
        self.calls: list[str] = []

    def put(self, record: LeaseRecord | None) -> None:
        self.record = record
        self.version += 1

    @property
    def holder(self) -> str | None:
        return self.record.holder if self.record else None


class MemoryLock:
    """The lease as one process sees it; `faults` go wrong once, `always` until it is None."""

    def __init__(self, lease: MemoryLease, identity: str, clock: VirtualClock) -> None:
        self.identity = identity
        self.faults: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self.always: Fault | None = None
        self.answer_seconds = 0.0
        self._lease = lease
        self._clock = clock
        self._version = 0

    async def get(self) -> LeaseRecord | None:
        fault = await self._begin("get")
        record, version = self._lease.record, self._lease.version
        await self._answer(fault)
        if record is not None:
            self._version = version
        return record

    async def create(self, record: LeaseRecord) -> None:
        fault = await self._begin("create")
        if self._lease.record is not None:
            raise AlreadyExistsError("the name is taken", status=409)
        await self._put(record, fault)

    async def update(self, record: LeaseRecord) -> None:
        fault = await self._begin("update")
        if self._lease.record is None or self._lease.version != self._version:
            raise ConflictError("it has changed", status=409)
        await self._put(record, fault)

    async def _put(self, record: LeaseRecord, fault: Fault | None) -> None:
        self._lease.put(record)
        version = self._lease.version
        await self._answer(fault)
        self._version = version

    async def _begin(self, call: str) -> Fault | None:
        self._lease.calls.append(call)
        fault = self.faults[call].popleft() if self.faults[call] else self.always
        if fault is Fault.FAILS:
            raise UnreachableError("there is no connection")
        if fault is Fault.HANGS:
            await asyncio.Event().wait()
        return fault

    async def _answer(self, fault: Fault | None) -> None:
        if self.answer_seconds:
            await self._clock.sleep(self.answer_seconds)
        if fault is Fault.LOSES_ITS_ANSWER:
            raise UnreachableError("the connection broke")
        if fault is Fault.IS_OVERTAKEN:
            self._lease.put(self._lease.record)
        if fault is Fault.HANGS_AFTERWARDS:
            await asyncio.Event().wait()
