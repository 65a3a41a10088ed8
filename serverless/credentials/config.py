"""The configuration of the credentials Job."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from shared.config.namespaces import SYSTEM_NAMESPACE

LogLevel = Literal["debug", "info", "warning", "error"]


class Config(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole configuration; the defaults are those of a cluster."""

    kubeconfig: Annotated[
        str,
        Meta(
            description="The kubeconfig file; empty: the pod's service account, or else "
            "$KUBECONFIG or ~/.kube/config."
        ),
    ] = ""
    namespace: Annotated[str, Meta(description="Namespace of the Secret.")] = SYSTEM_NAMESPACE
    log_level: Annotated[
        LogLevel, Meta(description="Lowest level of the lines that are logged.")
    ] = "info"
