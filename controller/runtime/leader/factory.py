"""Which of several equal processes works: the election as a process is configured for it."""

import logging
from dataclasses import dataclass
from random import Random
from typing import Protocol

from prometheus_client import CollectorRegistry

from controller.runtime.client.client import Client
from controller.runtime.clock import Clock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.events.series import ObjectReference
from controller.runtime.key import ObjectKey
from controller.runtime.leader.elector import ElectorCallbacks, LeaderElector
from controller.runtime.leader.lease import LEASES, LeaseLock
from controller.runtime.leader.metrics import LeaderMetrics
from controller.runtime.leader.rules import ElectionSettings, ElectionSettingsError

log = logging.getLogger(__name__)


class HasSeconds(Protocol):
    """A length of time."""

    @property
    def seconds(self) -> float: ...


class ElectionConfig(Protocol):
    """What a process is configured for."""

    @property
    def enabled(self) -> bool: ...
    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def lease_duration(self) -> HasSeconds: ...
    @property
    def renew_deadline(self) -> HasSeconds: ...
    @property
    def retry_period(self) -> HasSeconds: ...


@dataclass(frozen=True, slots=True)
class ElectorDependencies:
    """Who stands for election, and with what."""

    client: Client
    recorder: EventRecorder
    registry: CollectorRegistry
    clock: Clock
    randomness: Random
    identity: str


def new_elector(config: ElectionConfig, dependencies: ElectorDependencies) -> LeaderElector | None:
    """The elector that `config` asks for; None where there is no election."""
    if not config.enabled:
        log.warning("no_leader_election", extra={"risk": "a second process would work too"})
        return None
    lock = LeaseLock(
        dependencies.client, ObjectKey(config.namespace, config.name), dependencies.identity
    )
    callbacks = ElectorCallbacks(
        report_event=lambda said: dependencies.recorder.normal(
            lease_reference(config), "LeaderElection", said
        ),
        on_new_leader=lambda holder: log.info("new_leader", extra={"holder": holder}),
    )
    metrics = LeaderMetrics(dependencies.registry)
    return LeaderElector(
        lock,
        election_settings(config),
        dependencies.clock,
        dependencies.randomness,
        metrics,
        callbacks,
    )


def election_settings(config: ElectionConfig) -> ElectionSettings:
    """The durations of the election, checked against each other; ElectionSettingsError."""
    lease = config.lease_duration.seconds
    if lease != int(lease):
        raise ElectionSettingsError("leaderElection.leaseDuration: must be whole seconds")
    try:
        return ElectionSettings(
            config.name, int(lease), config.renew_deadline.seconds, config.retry_period.seconds
        )
    except ElectionSettingsError as error:
        raise ElectionSettingsError(f"leaderElection: {error}") from error


def lease_reference(config: ElectionConfig) -> ObjectReference:
    """The Lease, for Events about it."""
    return ObjectReference(LEASES.api_version, LEASES.name, config.namespace, config.name, uid="")
