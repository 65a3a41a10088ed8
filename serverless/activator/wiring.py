"""The parts of an activator process, put together from its configuration."""

import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

import aiohttp
from prometheus_client import CollectorRegistry

from controller.runtime.cache.cache import Cache
from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import Scope
from controller.runtime.client.client import Client
from controller.runtime.client.connection_monitor import Connection
from controller.runtime.clock import Clock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from controller.runtime.leader import factory
from controller.runtime.leader.elector import LeaderElector
from controller.runtime.leader.factory import Candidacy
from controller.runtime.loop.loop_factory import Loops
from controller.runtime.process.manager import Cache as Needed
from controller.runtime.process.manager import Manager, Parts
from controller.runtime.process.probes import Probes
from serverless.activator.auth.auth_callout import Callout, Gate
from serverless.activator.auth.jwt import Signer
from serverless.activator.auth.worker_credentials import WorkerUser
from serverless.activator.config import Config
from serverless.activator.kinds import FUNCTIONS, GPU_UNITS
from serverless.activator.leader_wiring import Leading, Surroundings, request_ids
from serverless.activator.metrics import FunctionCensus, Measures
from serverless.activator.scaling.snapshot import BY_REQUEST
from serverless.activator.sweep.streams import Streams
from serverless.activator.worker_reports import Reports
from serverless.activator.workers.runtime_api import authorization
from serverless.nats.config import QueueConfig, secret_of
from serverless.nats.connection import QueueConnection
from shared.config.address import Address
from shared.config.loader import ConfigurationError
from shared.config.metrics_tls import metrics_tls
from shared.invocation.streams import streams
from shared.k8s import server_version
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpuunit import GPUUnit

NAME: Final = "gpu-runtime-activator"


@dataclass(frozen=True, slots=True)
class Keys:
    """The secrets that the activator lets workers in by."""

    worker_key: bytes
    signer: Signer


def keys(config: Config) -> Keys:
    """The secrets that `config` names; ConfigurationError where one cannot be used."""
    seed = secret_of(config.callout_seed_file, "calloutSeedFile")
    key = secret_of(config.worker_key_file, "workerKeyFile").encode()
    authorization(config.runtime_api_token_file)
    if not key:
        raise ConfigurationError("workerKeyFile: the file is empty")
    try:
        return Keys(key, Signer(seed))
    except ValueError as error:
        raise ConfigurationError(f"calloutSeedFile: {error}") from error


class Assembly:
    """What the parts have in common while they are made."""

    def __init__(
        self,
        client: Client,
        session: aiohttp.ClientSession,
        registry: CollectorRegistry,
        clock: Clock,
    ) -> None:
        self._client = client
        self._session = session
        self._registry = registry
        self._clock = clock
        self._randomness = Random()  # noqa: S311 - spreads retries, keeps no secret
        self._identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        self._recorder = EventRecorder(client, clock, self._randomness, NAME, self._identity[-128:])

    def manager(self, config: Config, secrets: Keys) -> Manager:
        """Everything that `config` asks for, not yet started."""
        clock, where = self._clock, config.namespaces.instance
        functions, units = self._caches(where)
        queue = QueueConnection(config.nats, NAME, clock)
        door = QueueConnection(callout_access(config), f"{NAME}-callout", clock)
        wanted = streams(config.nats.names, config.nats.limits)
        needed: list[Needed] = [
            Connection(self._client.rest, clock, server_version.refusal),
            *functions.informers,
            *units.informers,
            queue,
            Streams(queue, wanted, clock),
            door,
        ]
        elector = factory.elector(config.leader_election, self._candidacy())
        reports = Reports(queue, config.nats.names, clock)
        around = Surroundings(
            config=config,
            client=self._client,
            session=self._session,
            recorder=self._recorder,
            functions=functions,
            units=units,
            queue=queue,
            reports=reports,
            worker_key=secrets.worker_key,
            fence=elector.fence if elector else lambda: None,
            clock=clock,
        )
        gate = Gate(
            secrets.worker_key,
            config.nats.worker_account,
            config.nats.names,
            known_in(functions, where),
        )
        tls = metrics_tls(config.metrics_tls, config.probe_addr, config.metrics_addr)
        probes = Probes(
            self._registry, lambda: [why for each in needed for why in each.not_ready()]
        )
        parts = Parts(
            probes=probes.serving(pair(config.probe_addr), pair(config.metrics_addr), tls),
            caches=needed,
            background=[self._recorder, reports, Callout(door, gate, secrets.signer, clock)],
            elector=elector,
            loops=self._leading(around, elector).loops(),
        )
        return Manager(parts, clock)

    def _leading(self, around: Surroundings, elector: LeaderElector | None) -> Leading:
        measures = Measures(self._registry)
        loops = Loops(self._registry, self._clock, self._randomness)
        leading = Leading(around, loops, measures)
        is_leader = elector.is_leader if elector else lambda: True
        census = FunctionCensus(leading.depths, leading.sweep, measures, is_leader, self._clock)
        self._registry.register(census)
        return leading

    def _caches(self, where: str) -> tuple[Cache[Function], Cache[GPUUnit]]:
        metrics = InformerMetrics(self._registry)
        functions = Informer(
            self._client, Scope(FUNCTIONS, where), metrics, self._clock, self._randomness
        )
        units = Informer(
            self._client,
            Scope(GPU_UNITS, where),
            metrics,
            self._clock,
            self._randomness,
            {BY_REQUEST: request_ids},
        )
        return Cache({where: functions}), Cache({where: units})

    def _candidacy(self) -> Candidacy:
        return Candidacy(
            self._client,
            self._recorder,
            self._registry,
            self._clock,
            self._randomness,
            self._identity,
        )


def callout_access(config: Config) -> QueueConfig:
    """How the one who lets workers in reaches the queue."""
    return QueueConfig(
        url=config.nats.url, user=config.callout_user, password_file=config.callout_password_file
    )


def known_in(functions: Cache[Function], where: str) -> Callable[[WorkerUser], bool]:
    """Tells whether workers are of a function that there is."""

    def is_known(user: WorkerUser) -> bool:
        found = functions.get(ObjectKey(where, user.request_id))
        return found is not None and found.metadata.uid == user.function_uid

    return is_known


def pair(address: Address) -> tuple[str, int]:
    """The address as a listener takes it."""
    return address.host, address.port
