"""What a unit's spec must be for a workload to be made of it."""

from collections.abc import Sequence

from controller.gpuunit.status.readiness import UnitReadiness
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reasons import UnitReason
from shared.v1alpha1.validation.mounts import mount_problems
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.resources import resource_problems
from shared.v1alpha1.validation.serverless import serverless_problems
from shared.v1alpha1.validation.unit import access_problems, workload_problems


def invalid_spec_readiness(unit: GPUUnit) -> UnitReadiness | None:
    """Everything that is wrong with a user's unit, under the reason of what is wrong first."""
    found: Sequence[tuple[UnitReason, list[Problem]]] = (
        (UnitReason.INVALID_SPEC, resource_problems(unit.spec) + workload_problems(unit.spec)),
        (UnitReason.ACCESS_CONFIG_INVALID, access_problems(unit.spec)),
        (UnitReason.STORAGE_MOUNT_INVALID, mount_problems(unit.spec)),
        (UnitReason.SERVERLESS_CONFIG_INVALID, serverless_problems(unit.spec)),
    )
    texts = [problem.text for _, problems in found for problem in problems]
    for reason, problems in found:
        if problems:
            return UnitReadiness.failed(reason, "; ".join(texts))
    return None
