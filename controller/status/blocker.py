"""Reason why a reconcile could not bring its object to the desired state."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from controller.runtime import KubeError

ReadinessT = TypeVar("ReadinessT")


@dataclass(frozen=True, slots=True)
class Blocker(Generic[ReadinessT]):
    """Readiness to report, and the error to retry; without an error only an event helps."""

    readiness: ReadinessT
    retry_error: KubeError | None = None
