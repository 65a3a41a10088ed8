"""The use cases of functions and invocations, put together on Kubernetes and the queue."""

from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from apiserver.clock import Clock
from apiserver.functions.lookup import FunctionLookup
from apiserver.functions.service import FunctionService
from apiserver.invocations.accept import InvocationAcceptor
from apiserver.invocations.archive import Archive
from apiserver.invocations.archive_reader import ArchiveReader
from apiserver.invocations.lists import InvocationLists
from apiserver.invocations.metrics import InvocationMetrics
from apiserver.invocations.service import InvocationService
from apiserver.kube.port import ObjectClient
from apiserver.nats.port import QueuePorts
from apiserver.operations.create_object import ObjectCreator
from apiserver.wiring import ServiceSettings
from shared.v1alpha1.function import Function


@dataclass(frozen=True, slots=True)
class ServerlessDependencies:
    """What is neither Kubernetes nor the queue."""

    registry: CollectorRegistry
    clock: Clock
    make_id: Callable[[], str]
    archive: Archive | None = None


class ServerlessServices:
    """Everything that the handlers of functions and invocations call."""

    def __init__(
        self,
        objects: ObjectClient,
        queue: QueuePorts,
        settings: ServiceSettings,
        function_creation: ObjectCreator[Function],
        dependencies: ServerlessDependencies,
    ) -> None:
        clock, retention = dependencies.clock, settings.record_retention_seconds
        lookup = FunctionLookup(objects, settings.instance_namespace, clock)
        metrics = InvocationMetrics(dependencies.registry)
        ingress = InvocationAcceptor(queue, lookup, metrics, clock, dependencies.make_id, retention)
        self.functions = FunctionService(
            objects, settings.instance_namespace, function_creation, queue.calls, retention
        )
        archive = None
        if dependencies.archive is not None:
            archive = ArchiveReader(dependencies.archive, clock, retention)
        self.invocations = InvocationService(queue, ingress, lookup, metrics, clock, archive)
        self.invocation_lists = InvocationLists(queue.history, lookup, archive)
