"""Security settings of all our pods."""

from typing import Any


def pod_security_fields() -> dict[str, Any]:
    """Return the pod fields that deny access to the Kubernetes API and unusual system calls."""
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
    }


def container_security_context() -> dict[str, Any]:
    """Return the security context of a container: no privilege escalation and no capabilities."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
