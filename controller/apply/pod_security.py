"""What no pod of ours may do."""

from typing import Any


def locked_down_pod() -> dict[str, Any]:
    """The fields of a pod that keep it from the cluster's API and from strange system calls."""
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
    }


def locked_down_container() -> dict[str, Any]:
    """The security of a container: it gains no rights and has no capabilities."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
