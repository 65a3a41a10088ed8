"""Resumes the operations that another process left unfinished."""

import logging
from collections.abc import Mapping
from random import Random
from typing import Final

from apiserver.errors import ServiceUnavailableError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import ListOptions, ObjectClient
from apiserver.kube.resources import OPERATIONS
from apiserver.operations.idempotency import IdempotentRunner, OperationWork
from apiserver.operations.store import FINAL_PHASES
from shared.clock import Clock

RESUME_INTERVAL_SECONDS: Final = 5.0
PAGE_SIZE: Final = 500

log = logging.getLogger(__name__)


class OperationResumer:
    """Resumes unfinished operations; several replicas may resume the same one without harm."""

    def __init__(
        self,
        objects: ObjectClient,
        namespace: str,
        runner: IdempotentRunner,
        work: Mapping[str, OperationWork],
        clock: Clock,
        rng: Random,
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._runner = runner
        self._work = work
        self._clock = clock
        self._rng = rng

    async def run(self) -> None:
        """Resume unfinished operations at jittered intervals, until cancelled."""
        known: set[str] = set()
        while True:
            try:
                known = await self.resume_unfinished(known)
            except (kube_errors.KubeError, ServiceUnavailableError) as error:
                log.warning("resumption_delayed", extra={"error": str(error)})
            await self._clock.sleep(RESUME_INTERVAL_SECONDS * self._rng.uniform(0.75, 1.25))

    async def resume_unfinished(self, seen_before: set[str]) -> set[str]:
        """Resume the unfinished operations that have not changed since the last call.

        Return the versions of the unfinished operations. A version that is new is most likely
        being worked on. Operations of unknown types are skipped.
        """
        unfinished = ",".join(f"status.phase!={phase}" for phase in sorted(FINAL_PHASES))
        options = ListOptions(field_selector=unfinished, limit=PAGE_SIZE)
        page = await self._objects.list(OPERATIONS, self._namespace, options)
        versions = {item.metadata.uid + item.metadata.resource_version: item for item in page.items}
        for version, operation in versions.items():
            work = self._work.get(operation.spec.type)
            if version in seen_before and work is not None:
                log.info("operation_resumed", extra={"operation": operation.spec.operation_id})
                self._runner.start(operation, work)
        return set(versions)
