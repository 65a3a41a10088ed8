"""Settings that several programs share, for `Annotated` fields of their configurations."""

from typing import Annotated, Literal

from msgspec import Meta

from shared.config.address import Address

ProbeAddr = Annotated[Address, Meta(description="The address of /healthz and /readyz.")]
MetricsAddr = Annotated[
    Address, Meta(description="The address of /metrics; may be the same as probeAddr.")
]
Kubeconfig = Annotated[
    str,
    Meta(
        description="The kubeconfig file; empty: the pod's service account, or else "
        "$KUBECONFIG or ~/.kube/config."
    ),
]
LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    Meta(description="The lowest level that is logged."),
]
