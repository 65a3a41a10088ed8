"""The settings of leader election."""

from typing import Annotated

import msgspec
from msgspec import Meta

from shared.config.duration import Duration
from shared.config.namespaces import SYSTEM_NAMESPACE


class LeaderElectionConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The leader election between several replicas of a program."""

    enabled: Annotated[
        bool, Meta(description="Whether replicas elect a leader; false only for a single replica.")
    ] = True
    name: Annotated[str, Meta(description="The name of the Lease that the leader holds.")] = (
        "gpu-runtime-controller"
    )
    namespace: Annotated[str, Meta(description="The namespace of the Lease.")] = SYSTEM_NAMESPACE
    lease_duration: Annotated[
        Duration,
        Meta(description="The time after which a Lease expires if not renewed; whole seconds."),
    ] = Duration(15)
    renew_deadline: Annotated[
        Duration, Meta(description="The time without a renewal after which the leader stops.")
    ] = Duration(10)
    retry_period: Annotated[
        Duration, Meta(description="The time between two attempts to acquire or renew the Lease.")
    ] = Duration(2)
