"""Callers of the API who repeat what was not answered, on whichever replica."""

import asyncio
from random import Random

from apiserver.clock import Clock
from apiserver.commands import CreateUnit, SeedStock
from apiserver.error_mapping import service_error
from apiserver.errors import DeadlineError, ServiceError, ServiceUnavailableError
from apiserver.kube import errors as kube_errors
from apiserver.operations.result import DeletedObject, Outcome
from apiserver.operations.store import LostRecordError
from apiserver.wiring import UseCases
from shared.v1alpha1.gpuunit import GPUUnit
from tests.support.checks.operation_invariants import Answer
from tests.support.cluster.api_replicas import Replicas
from tests.support.faults.faulty_gateway import Killed


class Callers:
    """All of them; `answers` is what they were told."""

    def __init__(self, replicas: Replicas, clock: Clock, randomness: Random) -> None:
        self._replicas = replicas
        self._clock = clock
        self._randomness = randomness
        self.answers: list[Answer] = []

    async def call(self, command: CreateUnit | SeedStock) -> None:
        """Repeat the request until it is answered; sent away, come back once or twice."""
        tries = self._randomness.randrange(1, 4)
        while tries:
            await self._clock.sleep(self._randomness.uniform(0.0, 0.5))
            if not self._replicas.alive:
                continue
            answer = await ask(self._randomness.choice(self._replicas.alive), command)
            if answer is None:
                continue
            self.answers.append(answer)
            if answer.code:
                tries -= 1
            elif answer.uid or isinstance(command, SeedStock):
                return


async def ask(replica: UseCases, command: CreateUnit | SeedStock) -> Answer | None:
    """One request; None if the caller cannot know what became of it."""
    try:
        return await answered(replica, command)
    except (LostRecordError, Killed):
        return None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return None  # the process that did the work is gone
    except kube_errors.ClusterError as error:
        return refused(command, service_error(error))
    except ServiceError as error:
        return refused(command, error)


def refused(command: CreateUnit | SeedStock, error: ServiceError) -> Answer | None:
    """What an error tells; None where it only says to come back."""
    if isinstance(error, ServiceUnavailableError | DeadlineError):
        return None
    return Answer(command.operation_id, is_new=False, code=error.code, asked=command)


async def answered(replica: UseCases, command: CreateUnit | SeedStock) -> Answer:
    operation_id = command.operation_id
    if isinstance(command, SeedStock):
        begun = await replica.stock.seed(command)
        is_new = begun.outcome is Outcome.NEW
        return Answer(operation_id, is_new, record=begun.value.metadata.uid, asked=command)
    made = await replica.units.create(command)
    is_new = made.outcome is Outcome.NEW
    match made.value:
        case GPUUnit(metadata=meta):
            return Answer(operation_id, is_new, meta.uid, asked=command)
        case DeletedObject(uid=uid):
            return Answer(operation_id, is_new, uid, asked=command)
        case record:
            uid = record.metadata.uid
            return Answer(operation_id, is_new=False, record=uid, asked=command)
