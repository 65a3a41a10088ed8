"""Which of several equal processes works: the election as a process is configured for it."""

import logging
from dataclasses import dataclass
from random import Random
from typing import Annotated

import msgspec
from msgspec import Meta
from prometheus_client import CollectorRegistry

from controller.runtime.client import Client
from controller.runtime.clock import Clock
from controller.runtime.election import ElectionSettings, ElectionSettingsError
from controller.runtime.event_series import Reference
from controller.runtime.events import EventRecorder
from controller.runtime.key import ObjectKey
from controller.runtime.leader import Callbacks, LeaderElector
from controller.runtime.leader_metrics import LeaderMetrics
from controller.runtime.lease import LEASES, LeaseLock
from shared.configuration import ConfigurationError
from shared.duration import Duration

log = logging.getLogger(__name__)


class LeaderElectionConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which of several processes works."""

    enabled: Annotated[bool, Meta(description="Off only where there is certainly one process.")] = (
        True
    )
    name: Annotated[str, Meta(description="The Lease that the working process holds.")] = (
        "gpu-runtime-controller"
    )
    namespace: Annotated[str, Meta(description="Where that Lease is.")] = "runtime-system"
    lease_duration: Annotated[
        Duration, Meta(description="How long a Lease holds that is not renewed; whole seconds.")
    ] = Duration(15)
    renew_deadline: Annotated[
        Duration, Meta(description="How long the holder tries to renew before it stops working.")
    ] = Duration(10)
    retry_period: Annotated[
        Duration, Meta(description="How often the Lease is tried or renewed.")
    ] = Duration(2)


@dataclass(frozen=True, slots=True)
class Candidacy:
    """Who stands for election, and with what."""

    client: Client
    recorder: EventRecorder
    registry: CollectorRegistry
    clock: Clock
    randomness: Random
    identity: str


def elector(config: LeaderElectionConfig, who: Candidacy) -> LeaderElector | None:
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


def settings(config: LeaderElectionConfig) -> ElectionSettings:
    """The durations of the election, checked against each other."""
    lease = config.lease_duration.seconds
    if lease != int(lease):
        raise ConfigurationError("leaderElection.leaseDuration: must be whole seconds")
    try:
        return ElectionSettings(
            config.name, int(lease), config.renew_deadline.seconds, config.retry_period.seconds
        )
    except ElectionSettingsError as error:
        raise ConfigurationError(f"leaderElection: {error}") from error


def about(config: LeaderElectionConfig) -> Reference:
    """The Lease, for Events about it."""
    return Reference(LEASES.api_version, LEASES.name, config.namespace, config.name, uid="")
