"""Callers of the API that repeat unanswered requests on any replica."""

import asyncio
from random import Random

from apiserver.error_mapping import service_error_from_kube
from apiserver.errors import DeadlineExceededError, ServiceError, ServiceUnavailableError
from apiserver.kube import errors as kube_errors
from apiserver.operations.result import DeletedObject, ResultKind
from apiserver.operations.store import OperationLostError
from apiserver.stock_units.commands import SeedStock
from apiserver.units.commands import CreateUnit
from apiserver.wiring import KubeServices
from shared.clock import Clock
from shared.v1alpha1.gpuunit import GPUUnit
from tests.support.checks.operation_invariants import CallerResult
from tests.support.faults.api_replicas import ApiReplicas
from tests.support.faults.faulty_gateway import ProcessKilled


class RetryingCallers:
    """All callers of a schedule; `results` are the results that they got."""

    def __init__(self, replicas: ApiReplicas, clock: Clock, randomness: Random) -> None:
        self._replicas = replicas
        self._clock = clock
        self._randomness = randomness
        self.results: list[CallerResult] = []

    async def call(self, command: CreateUnit | SeedStock) -> None:
        """Repeat a request until it has a result; after a refusal, once or twice more."""
        tries = self._randomness.randrange(1, 4)
        while tries:
            await self._clock.sleep(self._randomness.uniform(0.0, 0.5))
            if not self._replicas.alive:
                continue
            result = await call_once(self._randomness.choice(self._replicas.alive), command)
            if result is None:
                continue
            self.results.append(result)
            if result.error_code:
                tries -= 1
            elif result.unit_uid or isinstance(command, SeedStock):
                return


async def call_once(replica: KubeServices, command: CreateUnit | SeedStock) -> CallerResult | None:
    """Send one request; None if the caller cannot know its result."""
    try:
        return await call_replica(replica, command)
    except (OperationLostError, ProcessKilled):
        return None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return None  # the process that did the work has crashed
    except kube_errors.KubeError as error:
        return refusal_result(command, service_error_from_kube(error))
    except ServiceError as error:
        return refusal_result(command, error)


def refusal_result(command: CreateUnit | SeedStock, error: ServiceError) -> CallerResult | None:
    """Return the result of an error; None if it only requests a retry."""
    if isinstance(error, ServiceUnavailableError | DeadlineExceededError):
        return None
    return CallerResult(command.operation_id, is_new=False, error_code=error.code, command=command)


async def call_replica(replica: KubeServices, command: CreateUnit | SeedStock) -> CallerResult:
    operation_id = command.operation_id
    if isinstance(command, SeedStock):
        seed = await replica.stock.seed(command)
        is_new = seed.kind is ResultKind.NEW
        return CallerResult(
            operation_id, is_new, operation_uid=seed.value.metadata.uid, command=command
        )
    result = await replica.units.create(command)
    is_new = result.kind is ResultKind.NEW
    match result.value:
        case GPUUnit(metadata=meta):
            return CallerResult(operation_id, is_new, meta.uid, command=command)
        case DeletedObject(uid=uid):
            return CallerResult(operation_id, is_new, uid, command=command)
        case operation:
            uid = operation.metadata.uid
            return CallerResult(operation_id, is_new=False, operation_uid=uid, command=command)
