"""Creates the elector of a process from its configuration."""

import logging
from dataclasses import dataclass
from random import Random
from typing import Protocol

from prometheus_client import CollectorRegistry

from controller.runtime.client.client import Client
from controller.runtime.clock import TimerClock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.events.series import ObjectReference
from controller.runtime.key import ObjectKey
from controller.runtime.leader.elector import ElectorCallbacks, LeaderElector
from controller.runtime.leader.lease import LEASES, LeaseLock
from controller.runtime.leader.metrics import LeaderMetrics
from controller.runtime.leader.rules import ElectionSettings, ElectionSettingsError

log = logging.getLogger(__name__)


class HasSeconds(Protocol):
    """A duration."""

    @property
    def seconds(self) -> float: ...


class ElectionConfig(Protocol):
    """The configuration of an election."""

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
class LeaderElection:
    """An election: the namespace of its Lease, and the settings, which have the Lease's name."""

    namespace: str
    settings: ElectionSettings


@dataclass(frozen=True, slots=True)
class ElectorDependencies:
    """The dependencies of an elector; `identity` is unique to this process."""

    client: Client
    recorder: EventRecorder
    registry: CollectorRegistry
    clock: TimerClock
    rng: Random
    identity: str


def election_from_config(config: ElectionConfig) -> LeaderElection | None:
    """Return the election that `config` describes; None if it is not enabled."""
    if not config.enabled:
        return None
    return LeaderElection(config.namespace, election_settings(config))


def create_elector(
    election: LeaderElection | None, dependencies: ElectorDependencies
) -> LeaderElector | None:
    """Create an elector; without an election log the risk and return None."""
    if election is None:
        log.warning("no_leader_election", extra={"risk": "a second process would reconcile too"})
        return None
    key = ObjectKey(election.namespace, election.settings.name)
    lease = ObjectReference(LEASES.api_version, LEASES.name, key.namespace, key.name, uid="")
    callbacks = ElectorCallbacks(
        report_event=lambda note: dependencies.recorder.normal(lease, "LeaderElection", note),
        on_new_leader=lambda holder: log.info("new_leader", extra={"holder": holder}),
    )
    return LeaderElector(
        LeaseLock(dependencies.client, key, dependencies.identity),
        election.settings,
        dependencies.clock,
        dependencies.rng,
        LeaderMetrics(dependencies.registry),
        callbacks,
    )


def election_settings(config: ElectionConfig) -> ElectionSettings:
    """Return the validated settings; ElectionSettingsError if they are inconsistent."""
    lease_duration = config.lease_duration.seconds
    if lease_duration != int(lease_duration):
        raise ElectionSettingsError("leaderElection.leaseDuration: must be whole seconds")
    try:
        return ElectionSettings(
            config.name,
            int(lease_duration),
            config.renew_deadline.seconds,
            config.retry_period.seconds,
        )
    except ElectionSettingsError as error:
        raise ElectionSettingsError(f"leaderElection: {error}") from error
