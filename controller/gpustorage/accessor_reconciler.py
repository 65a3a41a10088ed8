"""Reconciler of a storage's accessor: it exists while it is enabled, on the node of the volume."""

from controller.apply.applier import ChildApplier
from controller.apply.child import Child, make_child
from controller.caches import BY_PVC, Caches
from controller.gpustorage.locks.users import node_using_volume
from controller.gpustorage.resources import accessor
from controller.gpustorage.resources.network_policy import accessor_network_policy_manifest
from controller.gpustorage.settings import StorageSettings
from controller.gpustorage.status.outcome import AccessorState, blocker_of_failure
from controller.kinds import DEPLOYMENTS, NETWORK_POLICIES, SERVICES
from controller.runtime import ObjectKey
from controller.status.pod_diagnosis import scheduling_message, waiting_message
from controller.volume_users import is_accessor
from shared.k8s.deployment import Deployment
from shared.k8s.pod import Pod
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import AccessorStatus, GPUStorage
from shared.v1alpha1.phases import AccessorPhase, StoragePhase
from shared.v1alpha1.reasons import StorageReason


class AccessorReconciler:
    """Reconciler of the accessor's three children: the policy comes first, the pods come last."""

    def __init__(
        self, caches: Caches, settings: StorageSettings, applier: ChildApplier[GPUStorage]
    ) -> None:
        self._caches = caches
        self._settings = settings
        self._applier = applier

    async def reconcile_accessor(
        self, storage: GPUStorage, wait_reason: str | None
    ) -> AccessorState:
        """Create or delete the accessor; with `wait_reason` it is enabled but must wait."""
        if storage.spec.accessor is None or not storage.spec.accessor.enabled:
            await self._delete_children(storage)
            status = AccessorStatus(phase=AccessorPhase.DISABLED.value)
            return AccessorState(status, "the accessor is not enabled")
        if wait_reason is not None:
            return AccessorState(AccessorStatus(phase=AccessorPhase.PENDING.value), wait_reason)
        failed = await self._applier.apply(storage, self._children(storage))
        if failed is not None:
            blocker = blocker_of_failure(failed)
            is_final = blocker.readiness.phase is StoragePhase.FAILED
            phase = AccessorPhase.FAILED if is_final else AccessorPhase.PENDING
            status = AccessorStatus(phase=phase.value)
            return AccessorState(status, blocker.readiness.message, blocker)
        return self._observed_state(storage)

    def _children(self, storage: GPUStorage) -> list[Child]:
        key, failure = accessor_key(storage), StorageReason.ACCESSOR_SYNC_FAILED
        node = node_using_volume(self._caches, storage)
        policy = accessor_network_policy_manifest(storage, accessor.ACCESSOR_PORT)
        service = accessor.accessor_service_manifest(storage)
        pods = accessor.accessor_deployment_manifest(storage, self._settings, node)
        return [
            make_child(NETWORK_POLICIES, policy, self._caches.network_policies.get(key), failure),
            make_child(SERVICES, service, self._caches.services.get(key), failure),
            make_child(DEPLOYMENTS, pods, self._caches.deployments.get(key), failure),
        ]

    async def _delete_children(self, storage: GPUStorage) -> None:
        key = accessor_key(storage)
        await self._applier.delete(storage, DEPLOYMENTS, self._caches.deployments.get(key))
        await self._applier.delete(storage, SERVICES, self._caches.services.get(key))
        await self._applier.delete(
            storage, NETWORK_POLICIES, self._caches.network_policies.get(key)
        )

    def _observed_state(self, storage: GPUStorage) -> AccessorState:
        meta = storage.metadata
        users = self._caches.pods.by_index(meta.namespace, BY_PVC, meta.name)
        pods = [pod for pod in users if is_accessor(pod.metadata)]
        deployment = self._caches.deployments.get(accessor_key(storage))
        phase, message = accessor_progress(deployment, pods)
        status = AccessorStatus(
            phase=phase.value,
            service_name=names.accessor_name(meta.name),
            access_url=accessor.accessor_url(storage, self._settings),
        )
        return AccessorState(status, message)


def accessor_key(storage: GPUStorage) -> ObjectKey:
    """Return the key that all three children share."""
    return ObjectKey(storage.metadata.namespace, names.accessor_name(storage.metadata.name))


def accessor_progress(deployment: Deployment | None, pods: list[Pod]) -> tuple[AccessorPhase, str]:
    """Return the progress; the accessor is ready when the pod of the latest spec serves."""
    if deployment is not None and is_rolled_out(deployment):
        return AccessorPhase.READY, "the files can be browsed"
    messages = (waiting_message(status) for pod in pods for status in pod.status.container_statuses)
    for message in filter(None, messages):
        return AccessorPhase.FAILED, message
    unschedulable = next(filter(None, map(scheduling_message, pods)), "")
    return AccessorPhase.PENDING, unschedulable or "the accessor is being started"


def is_rolled_out(deployment: Deployment) -> bool:
    status = deployment.status
    return (
        status.observed_generation >= deployment.metadata.generation
        and status.updated_replicas > 0
        and status.available_replicas > 0
    )
