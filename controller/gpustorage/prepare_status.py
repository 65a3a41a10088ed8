"""Recorded status of a storage's prepare."""

from typing import Final

from shared.v1alpha1.gpustorage import GPUStorage, PrepareStatus
from shared.v1alpha1.phases import PreparePhase

DONE_PHASES: Final = (PreparePhase.NOT_REQUESTED.value, PreparePhase.SUCCEEDED.value)
FINAL_PHASES: Final = (*DONE_PHASES, PreparePhase.FAILED.value)


def recorded_prepare_status(storage: GPUStorage) -> PrepareStatus:
    """Return the recorded status; an empty one before the first step."""
    return storage.status.prepare or PrepareStatus()
