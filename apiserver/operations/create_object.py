"""Making one object: its annotation says which operation made it."""

from typing import Any, Generic, TypeVar

from apiserver.error_mapping import service_error
from apiserver.errors import AlreadyExistsError, ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Objects
from apiserver.kube.resources import Object, Resource
from apiserver.operations.failure_text import failure_text
from apiserver.operations.idempotency import Requests
from apiserver.operations.provenance import is_made_by, provenance
from apiserver.operations.request_hash import Command
from apiserver.operations.result import Accepted, DeletedObject, Outcome
from apiserver.operations.retry import Patience
from apiserver.operations.store import Records, Settle, is_final
from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase

T = TypeVar("T", bound=Object)


class ObjectCreation(Generic[T]):
    """Makes objects of one kind, each once for all requests of its operation."""

    def __init__(
        self,
        objects: Objects,
        resource: Resource[T],
        namespace: str,
        records: Records,
        requests: Requests,
        patience: Patience,
    ) -> None:
        self._objects = objects
        self._resource = resource
        self._namespace = namespace
        self._records = records
        self._requests = requests
        self._patience = patience

    async def create(
        self, command: Command, settle: Settle
    ) -> Accepted[T | DeletedObject | Operation]:
        """The object, or its record while it is unfinished; `settle` gives its spec."""
        due = self._requests.due()
        begun = await self._records.begin_settled(command, settle)
        begun = await self._requests.restarted(begun)
        accepted = await self._requests.outcome(begun, self.finish, due)
        if accepted.outcome is Outcome.UNFINISHED:
            return accepted
        return Accepted(await self._recorded(accepted.value), accepted.outcome)

    async def finish(self, record: Operation) -> Operation:
        """The record once it is final."""
        while not is_final(record):
            status = await self._made(record)
            updated = await self._records.update(record, status)
            record = updated or await self._records.reread(record)
        return record

    async def _made(self, record: Operation) -> dict[str, Any]:
        """What the record shall say: closed with the object, or failed."""
        body = object_body(record)
        name = body["metadata"]["name"]
        try:
            made = await self._patience.with_call(
                lambda: self._objects.create(self._resource, self._namespace, body)
            )
        except (
            kube_errors.TakenError,
            kube_errors.RejectedError,
            kube_errors.QuotaExceededError,
        ) as error:
            found = await self._found(self._namespace, name)
            if found is None or not is_made_by(found, record):
                return failed(self._refusal(name, error))
            made = found  # by a call whose answer was lost: a quota is asked before the name
        return succeeded(self._resource, made)

    def _refusal(self, name: str, error: kube_errors.ClusterError) -> ServiceError:
        is_taken = isinstance(error, kube_errors.TakenError)
        return name_taken(self._resource, name) if is_taken else service_error(error)

    async def _recorded(self, record: Operation) -> T | DeletedObject:
        """The object that the record holds; one of another uid is not it."""
        made = record.status.objects[0]
        found = await self._found(made.namespace, made.name)
        if found is not None and found.metadata.uid == made.uid:
            return found
        return DeletedObject(made.name, made.namespace, made.uid, record.spec.operation_id)

    async def _found(self, namespace: str, name: str) -> T | None:
        try:
            return await self._patience.with_call(
                lambda: self._objects.get(self._resource, namespace, name)
            )
        except kube_errors.AbsentError:
            return None


def object_body(record: Operation) -> dict[str, Any]:
    """The object that the record asks for, as it was settled when it was begun."""
    asked = record.spec.request or {}
    metadata = {
        "name": asked["name"],
        "labels": {
            **asked.get("labels", {}),
            wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY,
            wellknown.OPERATION_LABEL: names.label_hash(record.spec.operation_id),
        },
        "annotations": provenance(record),
    }
    return {"metadata": metadata, "spec": asked["settled"]}


def name_taken(resource: Resource[Any], name: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"there is another {resource.kind} {name!r}; choose another name")


def failed(error: ServiceError) -> dict[str, Any]:
    return {"phase": OperationPhase.FAILED.value, "message": failure_text(error)}


def succeeded(resource: Resource[Any], made: Object) -> dict[str, Any]:
    meta = made.metadata
    listed = {
        "kind": resource.kind,
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
    }
    return {
        "phase": OperationPhase.SUCCEEDED.value,
        "requested": 1,
        "created": 1,
        "objects": [listed],
    }
