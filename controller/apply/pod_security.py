"""What no pod of ours may do."""

from typing import Any


def pod_security_fields() -> dict[str, Any]:
    """The fields of a pod that keep it from the cluster's API and from strange system calls."""
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
    }


def container_security_context() -> dict[str, Any]:
    """The security of a container: it gains no rights and has no capabilities."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
