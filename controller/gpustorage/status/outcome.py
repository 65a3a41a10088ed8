"""What came of one turn of a storage."""

from dataclasses import dataclass

from controller.gpustorage.accessor_reconciler import Browsed
from controller.gpustorage.prepare.state import DONE
from controller.gpustorage.status.blocker import Hitch
from controller.gpustorage.status.readiness import Verdict
from controller.runtime.errors import ApiError
from shared.k8s.pvc import VolumeClaim
from shared.v1alpha1.gpustorage import PrepareStatus
from shared.v1alpha1.phases import PreparePhase
from shared.v1alpha1.reasons import StorageReason


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found of the volume, of its filling and of its browsing."""

    claim: VolumeClaim | None
    volume: Verdict
    prepare: PrepareStatus
    browsed: Browsed
    claim_hitch: Hitch | None = None
    prepare_hitch: Hitch | None = None

    @property
    def verdict(self) -> Verdict:
        """The first that keeps the storage from being used; else how the volume is."""
        if not self.volume.is_ready:
            return self.volume
        if self.prepare.phase == PreparePhase.FAILED:
            return Verdict.failed(StorageReason.PREPARE_FAILED, self.prepare.message)
        if self.prepare_hitch is not None:
            return self.prepare_hitch.verdict
        if self.prepare.phase not in DONE:
            return Verdict.pending(StorageReason.NOT_PREPARED, "the volume is being filled")
        return self.volume

    @property
    def retry(self) -> ApiError | None:
        """What shall be tried again."""
        hitches = (self.claim_hitch, self.prepare_hitch, self.browsed.hitch)
        found = (hitch.retry for hitch in hitches if hitch is not None)
        return next((error for error in found if error is not None), None)
