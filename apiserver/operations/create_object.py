"""Creates one object for an operation, which its annotations name."""

from typing import Any, Generic, TypeVar

from apiserver.error_mapping import service_error_from_kube
from apiserver.errors import AlreadyExistsError, ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import ObjectClient
from apiserver.kube.resources import KubeObject, Resource
from apiserver.operations.failure_text import failure_text
from apiserver.operations.idempotency import IdempotentRunner
from apiserver.operations.request_hash import Command
from apiserver.operations.result import DeletedObject, OperationResult, ResultKind
from apiserver.operations.retry import Retry
from apiserver.operations.store import OperationStore, ResolveSpec, is_final
from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.operation import Operation, succeeded_status
from shared.v1alpha1.phases import OperationPhase

T = TypeVar("T", bound=KubeObject)


class ObjectCreator(Generic[T]):
    """Creates objects of one kind, each once for all requests of its operation."""

    def __init__(
        self,
        objects: ObjectClient,
        resource: Resource[T],
        namespace: str,
        operations: OperationStore,
        runner: IdempotentRunner,
        retry: Retry,
    ) -> None:
        self._objects = objects
        self._resource = resource
        self._namespace = namespace
        self._operations = operations
        self._runner = runner
        self._retry = retry

    async def create(
        self, command: Command, resolve_spec: ResolveSpec
    ) -> OperationResult[T | DeletedObject | Operation]:
        """Create the object with the spec from `resolve_spec`; UNFINISHED when the time is up."""
        deadline = self._runner.deadline()
        begun = await self._operations.begin_with_spec(command, resolve_spec)
        begun = await self._runner.restart_if_failed(begun)
        result = await self._runner.join(begun, self.finish, deadline)
        if result.kind is ResultKind.UNFINISHED:
            return result
        return OperationResult(await self._listed_object(result.value), result.kind)

    async def finish(self, operation: Operation) -> Operation:
        """Work on the operation until it is final."""
        while not is_final(operation):
            status = await self._create_object(operation)
            updated = await self._operations.update_status(operation, status)
            operation = updated or await self._operations.reread(operation)
        return operation

    async def _create_object(self, operation: Operation) -> dict[str, Any]:
        """Create the object; return the resulting status of the operation."""
        body = object_manifest(operation)
        name = body["metadata"]["name"]
        try:
            obj = await self._retry.call(
                lambda: self._objects.create(self._resource, self._namespace, body)
            )
        except (
            kube_errors.AlreadyExistsError,
            kube_errors.InvalidError,
            kube_errors.QuotaExceededError,
        ) as error:
            existing = await self._find(self._namespace, name)
            if existing is None or not is_created_by(existing, operation):
                return failed_status(self._create_error(name, error))
            obj = existing  # from a call whose response was lost: a quota is checked before a name
        return succeeded_status(self._resource.kind, obj.metadata)

    def _create_error(self, name: str, error: kube_errors.KubeError) -> ServiceError:
        is_taken = isinstance(error, kube_errors.AlreadyExistsError)
        return (
            name_exists_error(self._resource, name) if is_taken else service_error_from_kube(error)
        )

    async def _listed_object(self, operation: Operation) -> T | DeletedObject:
        """Return the object that the operation lists, or DeletedObject if it no longer exists."""
        listed = operation.status.objects[0]
        obj = await self._find(listed.namespace, listed.name)
        if obj is not None and obj.metadata.uid == listed.uid:
            return obj
        return DeletedObject(listed.name, listed.namespace, listed.uid, operation.spec.operation_id)

    async def _find(self, namespace: str, name: str) -> T | None:
        try:
            return await self._retry.call(
                lambda: self._objects.get(self._resource, namespace, name)
            )
        except kube_errors.NotFoundError:
            return None


def object_manifest(operation: Operation) -> dict[str, Any]:
    """Return the object to create, with the spec that was recorded when the operation began."""
    request = operation.spec.request or {}
    metadata = {
        "name": request["name"],
        "labels": {
            **request.get("labels", {}),
            wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY_VALUE,
            wellknown.OPERATION_LABEL: names.label_hash(operation.spec.operation_id),
        },
        "annotations": provenance_annotations(operation),
    }
    return {"metadata": metadata, "spec": request["settled"]}


def provenance_annotations(operation: Operation) -> dict[str, str]:
    """Return the annotations of an object that the operation creates."""
    return {
        wellknown.OPERATION_ID_ANNOTATION: operation.spec.operation_id,
        wellknown.REQUEST_HASH_ANNOTATION: operation.spec.request_hash,
    }


def is_created_by(obj: KubeObject, operation: Operation) -> bool:
    """Return whether the operation created the object; an id may be reused after its retention."""
    return provenance_annotations(operation).items() <= obj.metadata.annotations.items()


def name_exists_error(resource: Resource[Any], name: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"there is another {resource.kind} {name!r}; choose another name")


def failed_status(error: ServiceError) -> dict[str, Any]:
    return {"phase": OperationPhase.FAILED.value, "message": failure_text(error)}
