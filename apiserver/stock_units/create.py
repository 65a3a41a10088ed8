"""Making seeded stock units, any number of times with the same result."""

import asyncio
from collections.abc import Sequence
from typing import Final

from apiserver.clock import Clock
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Objects
from apiserver.kube.resources import GPU_UNITS
from apiserver.operations.provenance import is_made_by
from apiserver.operations.retry import Patience
from apiserver.stock_units.stock_body import stock_body
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.unit_resources import Envelope
from shared.v1alpha1.wellknown import ATTEMPT

AT_ONCE: Final = 16
GIVE_UP_SECONDS: Final = 600.0


class StockUnits:
    """The stock namespace, as a seeding operation sees it."""

    def __init__(self, objects: Objects, namespace: str, patience: Patience, clock: Clock) -> None:
        self._objects = objects
        self._patience = patience
        self._clock = clock
        self.namespace = namespace

    async def make(
        self, record: Operation, ordinals: Sequence[int], envelope: Envelope, made: dict[int, str]
    ) -> None:
        """Put the uids of the units of `ordinals` into `made`; a few are made at a time.

        ClusterError where one cannot be made: refused, or failing for ten minutes.
        """
        turns, deadline = asyncio.Semaphore(AT_ONCE), self._clock.monotonic() + GIVE_UP_SECONDS
        failures: list[kube_errors.ClusterError] = []

        async def one(ordinal: int) -> None:
            async with turns:
                if failures:
                    return
                try:
                    made[ordinal] = await self._made(record, ordinal, envelope, deadline)
                except kube_errors.ClusterError as failure:
                    failures.append(failure)

        async with asyncio.TaskGroup() as group:
            for ordinal in ordinals:
                group.create_task(one(ordinal))
        if failures:
            raise failures[0]

    async def _made(
        self, record: Operation, ordinal: int, envelope: Envelope, deadline: float
    ) -> str:
        body = stock_body(record, ordinal, envelope)
        while True:
            try:
                unit = await self._patience.until(
                    lambda: self._objects.create(GPU_UNITS, self.namespace, body), deadline
                )
            except (
                kube_errors.TakenError,
                kube_errors.RejectedError,
                kube_errors.QuotaExceededError,
            ) as error:
                # The answer to the same call may have been lost: a quota is asked before the name.
                found = await self._found(body["metadata"]["name"], record, deadline)
                if found is None and isinstance(error, kube_errors.TakenError):
                    continue  # the controller took it for a stray of the attempt before
                if found is None or not is_made_by(found, record):
                    raise
                unit = found
            return unit.metadata.uid

    async def _found(self, name: str, record: Operation, deadline: float) -> GPUUnit | None:
        """The unit of that name; that of an earlier attempt is made ours first.

        The controller deletes strays in the version that it has judged: this gives it another.
        """
        try:
            unit = await self._patience.until(
                lambda: self._objects.get(GPU_UNITS, self.namespace, name), deadline
            )
            if not record.status.attempt or not is_made_by(unit, record):
                return unit
            note = {"metadata": {"annotations": {ATTEMPT: str(record.status.attempt)}}}
            return await self._patience.until(
                lambda: self._objects.patch(GPU_UNITS, self.namespace, name, note), deadline
            )
        except kube_errors.AbsentError:
            return None
