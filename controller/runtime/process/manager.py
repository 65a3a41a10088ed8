"""A controller process: its caches, controllers, writer and recorder, and its run."""

import asyncio
import socket
import ssl
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry

from controller.runtime.cache.cache import Cache
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.shared_caches import SharedCaches
from controller.runtime.cache.store import IndexFunction
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client
from controller.runtime.client.connect import open_client
from controller.runtime.client.connection_monitor import (
    ClusterUnavailableError,
    ConnectionMonitor,
    VersionCheck,
    accept_any_version,
)
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.clock import Clock, SystemClock, TimerClock
from controller.runtime.errors import CannotListenError
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from controller.runtime.leader.factory import ElectorDependencies, LeaderElection, create_elector
from controller.runtime.leader.rules import LeadershipLostError
from controller.runtime.loop.loop_factory import LoopFactory
from controller.runtime.process.controller_builder import ControllerBuilder
from controller.runtime.process.lifecycle import (
    STOP_TIMEOUT_SECONDS,
    LeaderRunnable,
    Lifecycle,
    LifecycleComponents,
    Runnable,
    StopTimeoutError,
    SyncedRunnable,
)
from controller.runtime.process.probes import ProbeServer
from controller.runtime.process.process import new_registry
from controller.runtime.queue.ratelimit import RateLimiter, default_rate_limiter

T = TypeVar("T", bound=Object)

MAX_INSTANCE_LENGTH: Final = 128  # of the reporting instance of an event


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerOptions:
    """The options of a process: namespaces, retries, leader election, addresses and stop.

    `version` is the version of the product, for the user agent. `namespaces` are those of every
    cache that sets no others; the empty name means all. `new_rate_limiter` makes the rate limiter
    of each controller; the default is that of client-go. Without `leader_election` every process
    reconciles, so there may be only one. Without `probe_address` no port is opened; without
    `metrics_address` the metrics are at that address.
    """

    version: str = ""
    namespaces: Sequence[str] = ("",)
    new_rate_limiter: Callable[[Clock], RateLimiter[ObjectKey]] = default_rate_limiter
    leader_election: LeaderElection | None = None
    probe_address: tuple[str, int] | None = ("", 8080)
    metrics_address: tuple[str, int] | None = None
    metrics_tls: ssl.SSLContext | None = None
    check_version: VersionCheck = accept_any_version
    stop_timeout_seconds: float = STOP_TIMEOUT_SECONDS


DEFAULT_OPTIONS: Final = ManagerOptions()

# The errors of `Manager.run`, some of them in a group: a program logs the error and exits.
RUN_ERRORS: Final = (
    CannotListenError,
    ClusterUnavailableError,
    LeadershipLostError,
    StopTimeoutError,
)


class Manager:
    """Declares caches and controllers, then runs them until a stop or the loss of the lease.

    `client` reads and writes past the caches; `writer` is for reconcilers: it writes only while
    this process leads, and the caches show its writes at once. `recorder` writes Events.
    Everything is declared before `run`. Each manager needs a registry of its own, for the metrics.
    """

    def __init__(
        self,
        name: str,
        client: Client,
        options: ManagerOptions,
        registry: CollectorRegistry,
        clock: TimerClock,
        rng: Random,
    ) -> None:
        identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        self.client = client
        self.registry = registry
        self.clock = clock
        self.recorder = EventRecorder(client, clock, rng, name, identity[-MAX_INSTANCE_LENGTH:])
        self._elector = create_elector(
            options.leader_election,
            ElectorDependencies(client, self.recorder, registry, clock, rng, identity),
        )
        self._caches = SharedCaches(
            client, options.namespaces, InformerMetrics(registry), clock, rng
        )
        self.writer = Writer(client, self._caches.informers, self.fence)
        self._options = options
        self._loop_factory = LoopFactory(registry, clock, rng)
        self._controllers: dict[str, ControllerBuilder] = {}
        self._required: list[SyncedRunnable] = [
            ConnectionMonitor(client.rest, clock, options.check_version)
        ]
        self._runnables: list[Runnable] = [self.recorder]
        self._leader_runnables: list[LeaderRunnable] = []

    @classmethod
    @asynccontextmanager
    async def open(
        cls, name: str, kubeconfig: str = "", options: ManagerOptions = DEFAULT_OPTIONS
    ) -> AsyncIterator["Manager"]:
        """Connect to the cluster for the block, with a manager on the system's clock.

        `name` is the user agent, the field manager and the reporting controller of events. Without
        a kubeconfig the pod's service account is used, or else the user's default. Raises
        KubeconfigError if that is invalid.
        """
        clock, registry, rng = SystemClock(), new_registry(), Random()  # noqa: S311 - jitter only
        user_agent = f"{name}/{options.version}" if options.version else name
        async with open_client(kubeconfig, user_agent, registry, clock) as client:
            yield cls(name, client, options, registry, clock, rng)

    def cache(
        self,
        kind: Kind[T],
        namespaces: Sequence[str] | None = None,
        indexers: Mapping[str, IndexFunction[T]] | None = None,
    ) -> Cache[T]:
        """Return the cache of `kind`, which all controllers share.

        The first use may set other namespaces than those of the options, and indexers; ValueError
        if a later use does, RuntimeError for a new kind after `run`.
        """
        return self._caches.cache(kind, namespaces, indexers)

    def controller(self, name: str) -> ControllerBuilder:
        """Begin a controller, whose metrics and log lines have `name`; ValueError if it exists."""
        if name in self._controllers:
            raise ValueError(f"the controller {name} exists already")
        queue = self._loop_factory.new_queue(name, self._options.new_rate_limiter(self.clock))
        builder = ControllerBuilder(name, queue, self._caches, self._loop_factory, self.recorder)
        self._controllers[name] = builder
        return builder

    def add(self, runnable: Runnable) -> None:
        """Run `runnable` in every process, leader or not, once the caches have synced."""
        self._runnables.append(runnable)

    def add_required(self, runnable: SyncedRunnable) -> None:
        """Run `runnable` like a cache: work waits for its sync, and readiness includes it."""
        self._required.append(runnable)

    def add_leader_runnable(self, runnable: LeaderRunnable) -> None:
        """Run `runnable` in parallel with the controllers, only while this process leads."""
        self._leader_runnables.append(runnable)

    def is_leader(self) -> bool:
        """Whether this process leads now; always true without an election."""
        return self._elector is None or self._elector.is_leader()

    def fence(self) -> None:
        """Raise LeadershipLostError unless this process leads; for writes past `writer`."""
        if self._elector is not None:
            self._elector.fence()

    def not_ready(self) -> list[str]:
        """Return why this process is not ready; empty if it is."""
        return [reason for part in self._synced_parts() for reason in part.not_ready()]

    async def run(self, stop: asyncio.Event) -> None:
        """Run everything until `stop` is set.

        Raises the RUN_ERRORS, some of them in a group; IncompleteControllerError before anything
        starts.
        """
        loops = [controller.loop for controller in self._controllers.values()]
        self._caches.seal()
        components = LifecycleComponents(
            probes=self._probes(),
            caches=self._synced_parts(),
            runnables=self._runnables,
            elector=self._elector,
            loops=[*loops, *self._leader_runnables],
        )
        await Lifecycle(components, self.clock, self._options.stop_timeout_seconds).run(stop)

    def _synced_parts(self) -> list[SyncedRunnable]:
        return [*self._required, *self._caches.informers]

    def _probes(self) -> AbstractAsyncContextManager[None]:
        address = self._options.probe_address
        if address is None:
            return nullcontext()
        server = ProbeServer(self.registry, self.not_ready)
        metrics_address = self._options.metrics_address or address
        return server.serve(address, metrics_address, self._options.metrics_tls)
