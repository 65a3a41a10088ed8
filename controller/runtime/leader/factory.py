"""Which of several equal processes works: the election as a process is configured for it."""

import logging
from dataclasses import dataclass
from random import Random
from typing import Protocol

from prometheus_client import CollectorRegistry

from controller.runtime.client.client import Client
from controller.runtime.clock import Clock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.events.series import Reference
from controller.runtime.key import ObjectKey
from controller.runtime.leader.elector import Callbacks, LeaderElector
from controller.runtime.leader.lease import LEASES, LeaseLock
from controller.runtime.leader.metrics import LeaderMetrics
from controller.runtime.leader.rules import ElectionSettings, ElectionSettingsError

log = logging.getLogger(__name__)


class Seconds(Protocol):
    """A length of time."""

    @property
    def seconds(self) -> float: ...


class Choice(Protocol):
    """What a process is configured for."""

    @property
    def enabled(self) -> bool: ...
    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def lease_duration(self) -> Seconds: ...
    @property
    def renew_deadline(self) -> Seconds: ...
    @property
    def retry_period(self) -> Seconds: ...


@dataclass(frozen=True, slots=True)
class Candidacy:
    """Who stands for election, and with what."""

    client: Client
    recorder: EventRecorder
    registry: CollectorRegistry
    clock: Clock
    randomness: Random
    identity: str


def elector(config: Choice, who: Candidacy) -> LeaderElector | None:
    """The elector that `config` asks for; None where there is no election."""
    if not config.enabled:
        log.warning("no_leader_election", extra={"risk": "a second process would work too"})
        return None
    lock = LeaseLock(who.client, ObjectKey(config.namespace, config.name), who.identity)
    callbacks = Callbacks(
        report=lambda said: who.recorder.normal(about(config), "LeaderElection", said),
        on_new_leader=lambda holder: log.info("new_leader", extra={"holder": holder}),
    )
    metrics = LeaderMetrics(who.registry)
    return LeaderElector(lock, settings(config), who.clock, who.randomness, metrics, callbacks)


def settings(config: Choice) -> ElectionSettings:
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


def about(config: Choice) -> Reference:
    """The Lease, for Events about it."""
    return Reference(LEASES.api_version, LEASES.name, config.namespace, config.name, uid="")
