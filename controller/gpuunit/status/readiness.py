"""Readiness of a unit."""

from collections.abc import Sequence
from typing import ClassVar, Self

from shared.k8s.readiness import Readiness
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.reasons import UnitReason
from shared.v1alpha1.validation.mounts import mount_problems
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.resources import resource_problems
from shared.v1alpha1.validation.serverless import serverless_problems
from shared.v1alpha1.validation.unit import access_problems, workload_problems


class UnitReadiness(Readiness[UnitPhase, UnitReason]):
    """Readiness of a unit, as its status reports it."""

    __slots__ = ()

    ELLIPSIS: ClassVar[str] = "..."

    @classmethod
    def ready(cls, reason: UnitReason, message: str) -> Self:
        """Create the readiness of a unit that works."""
        return cls.new(UnitPhase.READY, reason, message)

    @classmethod
    def progressing(cls, reason: UnitReason, message: str) -> Self:
        """Create the readiness of a unit that may become ready without a change of its spec."""
        return cls.new(UnitPhase.PROGRESSING, reason, message)

    @classmethod
    def failed(cls, reason: UnitReason, message: str) -> Self:
        """Create the readiness of a unit that stays failed until a user acts."""
        return cls.new(UnitPhase.FAILED, reason, message)


def invalid_spec_readiness(unit: GPUUnit) -> UnitReadiness | None:
    """Report all problems of a user's spec, with the reason of the first; None if it is valid."""
    problems_by_reason: Sequence[tuple[UnitReason, list[Problem]]] = (
        (UnitReason.INVALID_SPEC, resource_problems(unit.spec) + workload_problems(unit.spec)),
        (UnitReason.ACCESS_CONFIG_INVALID, access_problems(unit.spec)),
        (UnitReason.STORAGE_MOUNT_INVALID, mount_problems(unit.spec)),
        (UnitReason.SERVERLESS_CONFIG_INVALID, serverless_problems(unit.spec)),
    )
    texts = [problem.text for _, problems in problems_by_reason for problem in problems]
    for reason, problems in problems_by_reason:
        if problems:
            return UnitReadiness.failed(reason, "; ".join(texts))
    return None
