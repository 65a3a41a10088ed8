"""The settings of leader election."""

from typing import Annotated

import msgspec
from msgspec import Meta

from shared.config.duration import Duration
from shared.config.namespaces import SYSTEM_NAMESPACE


class LeaderElectionConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The leader election between several replicas of a program."""

    enabled: Annotated[bool, Meta(description="Off only where there is certainly one process.")] = (
        True
    )
    name: Annotated[str, Meta(description="The Lease that the working process holds.")] = (
        "gpu-runtime-controller"
    )
    namespace: Annotated[str, Meta(description="Where that Lease is.")] = SYSTEM_NAMESPACE
    lease_duration: Annotated[
        Duration, Meta(description="How long a Lease holds that is not renewed; whole seconds.")
    ] = Duration(15)
    renew_deadline: Annotated[
        Duration, Meta(description="How long the holder tries to renew before it stops working.")
    ] = Duration(10)
    retry_period: Annotated[
        Duration, Meta(description="How often the Lease is tried or renewed.")
    ] = Duration(2)
