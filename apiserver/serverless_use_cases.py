"""The use cases of functions and invocations, put together on Kubernetes and the queue."""

from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from apiserver.clock import Clock
from apiserver.functions.lookup import FunctionLookup
from apiserver.functions.service import FunctionService
from apiserver.invocations.accept import Ingress
from apiserver.invocations.archive import Archive
from apiserver.invocations.archive_reader import ArchiveLists
from apiserver.invocations.lists import InvocationLists
from apiserver.invocations.metrics import InvocationMetrics
from apiserver.invocations.service import InvocationService
from apiserver.kube.port import Objects
from apiserver.nats.port import Queue
from apiserver.operations.create_object import ObjectCreation
from apiserver.wiring import Surroundings
from shared.v1alpha1.function import Function


@dataclass(frozen=True, slots=True)
class World:
    """What is neither Kubernetes nor the queue."""

    registry: CollectorRegistry
    clock: Clock
    make_id: Callable[[], str]
    archive: Archive | None = None


class ServerlessUseCases:
    """Everything that the handlers of functions and invocations call."""

    def __init__(
        self,
        objects: Objects,
        queue: Queue,
        where: Surroundings,
        creation: ObjectCreation[Function],
        world: World,
    ) -> None:
        clock, retention = world.clock, where.record_seconds
        lookup = FunctionLookup(objects, where.instance, clock)
        metrics = InvocationMetrics(world.registry)
        ingress = Ingress(queue, lookup, metrics, clock, world.make_id, retention)
        self.functions = FunctionService(objects, where.instance, creation, queue.calls, retention)
        archive = None
        if world.archive is not None:
            archive = ArchiveLists(world.archive, clock, retention)
        self.invocations = InvocationService(queue, ingress, lookup, metrics, clock, archive)
        self.index = InvocationLists(queue.history, lookup, archive)
