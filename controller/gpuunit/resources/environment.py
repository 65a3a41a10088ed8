"""The environment of the user's program."""

from typing import Any

import msgspec

from shared.v1alpha1.framework_place import resolve_endpoint
from shared.v1alpha1.gpuunit import GPUUnit, ServerlessSpec
from shared.v1alpha1.template import EnvVar


def container_env(unit: GPUUnit) -> list[dict[str, Any]]:
    """Ours first, so that the user's values can refer to them; the user's own value wins."""
    theirs = () if unit.spec.template is None else unit.spec.template.envs
    taken = {variable.name for variable in theirs}
    ours = [variable for variable in _default_env(unit) if variable.name not in taken]
    return [msgspec.to_builtins(variable) for variable in (*ours, *theirs)]


def _default_env(unit: GPUUnit) -> list[EnvVar]:
    values = {
        "UNIT_NAME": unit.metadata.name,
        "SPEC_NAME": unit.spec.spec_name,
        "GPU_COUNT": str(unit.spec.gpu),
        "MEMORY_LIMIT": unit.spec.memory,
        **framework_env(unit.spec.serverless),
    }
    return [EnvVar(name=name, value=value) for name, value in values.items()]


def framework_env(serverless: ServerlessSpec | None) -> dict[str, str]:
    """Where the user's code and the worker meet, said to both; nothing for other units."""
    if serverless is None:
        return {}
    place = resolve_endpoint(serverless.framework)
    return {
        "GPU_RUNTIME_SOCKET": place.socket_path,
        "GPU_RUNTIME_INVOKE_PATH": place.invoke_path,
        "GPU_RUNTIME_HEALTH_PATH": place.health_path,
    }
