"""Every key that the controller reads, with its default."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from shared.address import Address

LogLevel = Literal["debug", "info", "warning", "error"]


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
