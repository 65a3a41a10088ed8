"""Keeping the volume of a storage: asked for once, grown where it can be, never made anew."""

from controller.apply.applier import Sync
from controller.caches import Caches
from controller.gpustorage.errors import OvertakenError
from controller.gpustorage.resources.pvc import claim_child
from controller.gpustorage.settings import StorageSettings
from controller.gpustorage.status.blocker import Hitch, hitch_of
from controller.gpustorage.status.readiness import Verdict
from controller.gpustorage.volume_readiness import lost, volume_verdict, was_made
from controller.object_reader import Lookup
from controller.runtime.client.kind import key_of
from controller.runtime.client.ownership import is_controlled_by
from controller.runtime.key import ObjectKey
from shared.k8s.pvc import VolumeClaim
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.reasons import StorageReason
from shared.v1alpha1.validation.storage import storage_problems


class Volumes:
    """The claims of storages; deleting them is left to the garbage collector."""

    def __init__(
        self, caches: Caches, lookup: Lookup, settings: StorageSettings, sync: Sync[GPUStorage]
    ) -> None:
        self._caches = caches
        self._lookup = lookup
        self._settings = settings
        self._sync = sync

    def found(self, storage: GPUStorage) -> tuple[VolumeClaim | None, StorageClass | None]:
        """The storage's own claim and its class, as far as they are there."""
        claim = self._caches.claims.get(key_of(storage))
        if claim is None or not is_own(storage, claim):
            return None, None
        return claim, self._caches.classes.get(ObjectKey("", claim.class_name))

    async def keep(self, storage: GPUStorage) -> tuple[Verdict, Hitch | None]:
        """Ask for the volume as the spec has it; one that was there and is gone stays gone."""
        claim, kind = self.found(storage)
        if claim is None and was_made(storage):
            return await self._lost(storage), None
        problems = storage_problems(storage.spec)
        if problems:
            said = "; ".join(problem.text for problem in problems)
            return Verdict.failed(StorageReason.INVALID_SPEC, said), None
        there = self._caches.claims.get(key_of(storage))
        if there is None:
            await self._require_free_name(storage)
        asked_for = claim_child(storage, there, kind, self._settings)
        failed = await self._sync.ensure(storage, [asked_for])
        claim, kind = self.found(storage)
        verdict = volume_verdict(storage, claim, kind)
        if failed is None or (claim is not None and claim.metadata.deletion_timestamp is not None):
            return verdict, None
        return refused(verdict, hitch_of(failed))

    async def _require_free_name(self, storage: GPUStorage) -> None:
        """A claim that we have not heard of may be somebody else's: it would become ours."""
        name = storage.metadata.name
        if await self._lookup.live_claim(name) is not None:
            raise OvertakenError(name)

    async def _lost(self, storage: GPUStorage) -> Verdict:
        """That data is lost is believed only of the server."""
        name = storage.metadata.name
        claim = await self._lookup.live_claim(name)
        if claim is not None and is_own(storage, claim):
            raise OvertakenError(name)
        return lost(storage)


def is_own(storage: GPUStorage, claim: VolumeClaim) -> bool:
    return is_controlled_by(claim.metadata, [storage.metadata.uid])


def refused(verdict: Verdict, hitch: Hitch) -> tuple[Verdict, Hitch]:
    """A change that the server does not take leaves a volume as good as it was."""
    if verdict.is_ready and hitch.retry is not None:
        return verdict.but(hitch.verdict.reason, hitch.verdict.message), hitch
    return hitch.verdict, hitch
