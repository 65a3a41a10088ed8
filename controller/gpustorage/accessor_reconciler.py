"""Keeping the accessor of a storage: there while it is wanted, and where the volume is."""

from dataclasses import dataclass

from controller.apply.applier import Sync
from controller.apply.child import Child, child
from controller.caches import BY_CLAIM, Caches
from controller.gpustorage.locks.users import node_in_use
from controller.gpustorage.resources import accessor
from controller.gpustorage.resources.network_policy import accessor_policy
from controller.gpustorage.settings import StorageSettings
from controller.gpustorage.status.blocker import Hitch, hitch_of
from controller.kinds import DEPLOYMENTS, NETWORK_POLICIES, SERVICES
from controller.runtime.key import ObjectKey
from controller.status.pod_diagnosis import scheduler_words, waiting_words
from controller.volume_users import is_browser
from shared.k8s.deployment import Deployment
from shared.k8s.pod import Pod
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import AccessorStatus, GPUStorage
from shared.v1alpha1.phases import AccessorPhase, StoragePhase
from shared.v1alpha1.reasons import StorageReason


@dataclass(frozen=True, slots=True)
class Browsed:
    """How the browsing is, and in words."""

    status: AccessorStatus
    message: str
    hitch: Hitch | None = None


class Browsing:
    """The accessor's three children: policy first, pods last."""

    def __init__(self, caches: Caches, settings: StorageSettings, sync: Sync[GPUStorage]) -> None:
        self._caches = caches
        self._settings = settings
        self._sync = sync

    async def keep(self, storage: GPUStorage, waits_for: str | None) -> Browsed:
        """Make it or take it away; with `waits_for` it is wanted, but cannot be yet."""
        if storage.spec.accessor is None or not storage.spec.accessor.enabled:
            await self._remove(storage)
            status = AccessorStatus(phase=AccessorPhase.DISABLED.value)
            return Browsed(status, "browsing was not asked for")
        if waits_for is not None:
            return Browsed(AccessorStatus(phase=AccessorPhase.PENDING.value), waits_for)
        failed = await self._sync.ensure(storage, self._children(storage))
        if failed is not None:
            hitch = hitch_of(failed)
            is_lasting = hitch.verdict.phase is StoragePhase.FAILED
            phase = AccessorPhase.FAILED if is_lasting else AccessorPhase.PENDING
            return Browsed(AccessorStatus(phase=phase.value), hitch.verdict.message, hitch)
        return self._seen(storage)

    def _children(self, storage: GPUStorage) -> list[Child]:
        key, failure = accessor_key(storage), StorageReason.ACCESSOR_SYNC_FAILED
        node = node_in_use(self._caches, storage)
        policy = accessor_policy(storage, accessor.PORT)
        service = accessor.accessor_service(storage)
        pods = accessor.accessor_deployment(storage, self._settings, node)
        return [
            child(NETWORK_POLICIES, policy, self._caches.policies.get(key), failure),
            child(SERVICES, service, self._caches.services.get(key), failure),
            child(DEPLOYMENTS, pods, self._caches.deployments.get(key), failure),
        ]

    async def _remove(self, storage: GPUStorage) -> None:
        key = accessor_key(storage)
        await self._sync.remove(storage, DEPLOYMENTS, self._caches.deployments.get(key))
        await self._sync.remove(storage, SERVICES, self._caches.services.get(key))
        await self._sync.remove(storage, NETWORK_POLICIES, self._caches.policies.get(key))

    def _seen(self, storage: GPUStorage) -> Browsed:
        meta = storage.metadata
        found = self._caches.pods.by_index(meta.namespace, BY_CLAIM, meta.name)
        pods = [pod for pod in found if is_browser(pod.metadata)]
        phase, said = progress(self._caches.deployments.get(accessor_key(storage)), pods)
        status = AccessorStatus(
            phase=phase.value,
            service_name=names.accessor(meta.name),
            access_url=accessor.access_url(storage, self._settings),
        )
        return Browsed(status, said)


def accessor_key(storage: GPUStorage) -> ObjectKey:
    """All three have one name."""
    return ObjectKey(storage.metadata.namespace, names.accessor(storage.metadata.name))


def progress(deployment: Deployment | None, pods: list[Pod]) -> tuple[AccessorPhase, str]:
    """Ready when the pod of what was asked for last serves."""
    if deployment is not None and is_rolled_out(deployment):
        return AccessorPhase.READY, "the files can be browsed"
    waiting = (waiting_words(each) for pod in pods for each in pod.status.container_statuses)
    for said in filter(None, waiting):
        return AccessorPhase.FAILED, said
    unplaced = next(filter(None, map(scheduler_words, pods)), "")
    return AccessorPhase.PENDING, unplaced or "the accessor is being started"


def is_rolled_out(deployment: Deployment) -> bool:
    status = deployment.status
    return (
        status.observed_generation >= deployment.metadata.generation
        and status.updated_replicas > 0
        and status.available_replicas > 0
    )
