"""Creates seeded stock units; a repeated call has the same result."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from apiserver.kube import errors as kube_errors
from apiserver.kube.port import ObjectClient
from apiserver.kube.resources import GPU_UNITS
from apiserver.operations.create_object import is_created_by, provenance_annotations
from apiserver.operations.retry import Retry
from shared.clock import Clock
from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.unit_resources import UnitResources
from shared.v1alpha1.wellknown import ATTEMPT_ANNOTATION

MAX_CONCURRENT_CREATES: Final = 16
CREATE_TIMEOUT_SECONDS: Final = 600.0


class StockUnitCreator:
    """Creates the stock units of a seeding operation."""

    def __init__(self, objects: ObjectClient, namespace: str, retry: Retry, clock: Clock) -> None:
        self._objects = objects
        self._retry = retry
        self._clock = clock
        self.namespace = namespace

    async def create_units(
        self,
        operation: Operation,
        ordinals: Sequence[int],
        resources: UnitResources,
        created_uids: dict[int, str],
    ) -> None:
        """Create the units of `ordinals`, a few at a time; add their uids to `created_uids`.

        KubeError if a create is refused, or fails for ten minutes.
        """
        slots, deadline = (
            asyncio.Semaphore(MAX_CONCURRENT_CREATES),
            self._clock.monotonic() + CREATE_TIMEOUT_SECONDS,
        )
        failures: list[kube_errors.KubeError] = []

        async def create_one(ordinal: int) -> None:
            async with slots:
                if failures:
                    return
                try:
                    created_uids[ordinal] = await self._create_unit(
                        operation, ordinal, resources, deadline
                    )
                except kube_errors.KubeError as failure:
                    failures.append(failure)

        async with asyncio.TaskGroup() as group:
            for ordinal in ordinals:
                group.create_task(create_one(ordinal))
        if failures:
            raise failures[0]

    async def _create_unit(
        self, operation: Operation, ordinal: int, resources: UnitResources, deadline: float
    ) -> str:
        body = stock_unit_manifest(operation, ordinal, resources)
        while True:
            try:
                unit = await self._retry.call_until(
                    lambda: self._objects.create(GPU_UNITS, self.namespace, body), deadline
                )
            except (
                kube_errors.AlreadyExistsError,
                kube_errors.InvalidError,
                kube_errors.QuotaExceededError,
            ) as error:
                # The response to our call may have been lost: a quota is checked before the name.
                existing = await self._find_or_adopt(body["metadata"]["name"], operation, deadline)
                if existing is None and isinstance(error, kube_errors.AlreadyExistsError):
                    continue  # the controller deleted it as a stray of an earlier attempt
                if existing is None or not is_created_by(existing, operation):
                    raise
                unit = existing
            return unit.metadata.uid

    async def _find_or_adopt(
        self, name: str, operation: Operation, deadline: float
    ) -> GPUUnit | None:
        """Return the unit of that name; mark a unit of an earlier attempt with this attempt.

        The controller deletes a stray only at the version that it read; the mark changes it.
        """
        try:
            unit = await self._retry.call_until(
                lambda: self._objects.get(GPU_UNITS, self.namespace, name), deadline
            )
            if not operation.status.attempt or not is_created_by(unit, operation):
                return unit
            patch = {
                "metadata": {"annotations": {ATTEMPT_ANNOTATION: str(operation.status.attempt)}}
            }
            return await self._retry.call_until(
                lambda: self._objects.patch(GPU_UNITS, self.namespace, name, patch), deadline
            )
        except kube_errors.NotFoundError:
            return None


def stock_unit_manifest(
    operation: Operation, ordinal: int, resources: UnitResources
) -> dict[str, Any]:
    """Return a new stock unit; its name follows from the operation and the ordinal."""
    operation_id = operation.spec.operation_id
    metadata = {
        "name": names.stock_unit_name(operation_id, ordinal),
        "labels": {
            wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY_VALUE,
            wellknown.OPERATION_LABEL: names.label_hash(operation_id),
        },
        "annotations": {
            **provenance_annotations(operation),
            wellknown.STOCK_ORDINAL_ANNOTATION: str(ordinal),
        },
    }
    return {"metadata": metadata, "spec": msgspec.to_builtins(resources)}
