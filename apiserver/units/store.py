"""Users' units in the cluster, as the operations see them."""

from apiserver.commands import CreateUnit
from apiserver.errors import ConflictError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Body, Objects
from apiserver.kube.resources import FUNCTIONS, GPU_UNITS
from apiserver.operations.retry import Patience
from apiserver.units.manifest import worker_of
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.wellknown import ATTEMPT


class ActiveUnits:
    """Live reads and conditional writes of the units in the instance namespace."""

    def __init__(self, objects: Objects, namespace: str, patience: Patience) -> None:
        self._objects = objects
        self._patience = patience
        self.namespace = namespace

    async def find(self, name: str) -> GPUUnit | None:
        """The unit as it is now."""
        try:
            return await self._patience.with_call(
                lambda: self._objects.get(GPU_UNITS, self.namespace, name)
            )
        except kube_errors.AbsentError:
            return None

    async def create(self, body: Body) -> GPUUnit:
        """Make a unit; TakenError where the name is taken, perhaps by ourselves."""
        return await self._patience.with_call(
            lambda: self._objects.create(GPU_UNITS, self.namespace, body)
        )

    async def ownerless(self, command: CreateUnit) -> ConflictError | None:
        """Why a function's worker cannot be: its function is gone, or is another one by now."""
        uid = worker_of(command)
        if uid is None or command.serverless is None:
            return None
        name = command.serverless.request_id
        try:
            found = await self._patience.with_call(
                lambda: self._objects.get(FUNCTIONS, self.namespace, name)
            )
        except kube_errors.AbsentError:
            return ConflictError(f"there is no function {name!r}")
        is_it = found.metadata.uid == uid
        return None if is_it else ConflictError(f"the function {name!r} has another uid by now")

    async def keep(self, unit: GPUUnit, attempt: int) -> bool:
        """Make a unit of an earlier attempt ours; whether it was still there.

        The controller deletes strays in the version that it has judged: this gives it another.
        """
        meta = unit.metadata
        note = {"uid": meta.uid, "annotations": {ATTEMPT: str(attempt)}}
        try:
            await self._patience.with_call(
                lambda: self._objects.patch(
                    GPU_UNITS, meta.namespace, meta.name, {"metadata": note}
                )
            )
        except (kube_errors.AbsentError, kube_errors.StaleError):
            return False
        return True
