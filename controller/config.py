"""Every key that the controller reads, with its default."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from shared.address import Address
from shared.duration import Duration

LogLevel = Literal["debug", "info", "warning", "error"]


class LeaderElectionConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which of several controllers works."""

    enabled: Annotated[
        bool, Meta(description="Off only where there is certainly one controller.")
    ] = True
    name: Annotated[str, Meta(description="The Lease that the working controller holds.")] = (
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


class Config(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole configuration of one controller process."""

    probe_addr: Annotated[Address, Meta(description="Where /healthz and /readyz are served.")] = (
        Address("127.0.0.1", 8081)
    )
    metrics_addr: Annotated[
        Address,
        Meta(description="Where /metrics is served; may be the same as probeAddr."),
    ] = Address("127.0.0.1", 8081)
    kubeconfig: Annotated[
        str,
        Meta(
            description="The kubeconfig file; empty: the pod's service account, or else "
            "$KUBECONFIG or ~/.kube/config."
        ),
    ] = ""
    log_level: Annotated[LogLevel, Meta(description="The least severe lines that are logged.")] = (
        "info"
    )
    leader_election: LeaderElectionConfig = LeaderElectionConfig()
