"""Bringing children to what they shall be."""

from controller.gpuunit.child import Child, Step, next_step, was_accepted
from controller.gpuunit.outcome import Outcome
from controller.gpuunit.verdict import Verdict
from controller.kinds import GPU_UNITS, SERVICES
from controller.runtime.client import Condition
from controller.runtime.errors import (
    ApiError,
    ConflictError,
    InvalidError,
    NotFoundError,
    StatusError,
)
from controller.runtime.event import reference
from controller.runtime.events import EventRecorder
from controller.runtime.kind import key_of
from controller.runtime.writer import Writer
from shared.reasons import EventReason, UnitReason
from shared.service import Service
from shared.v1alpha1.gpuunit import GPUUnit


class Sync:
    """Writes only what differs."""

    def __init__(self, writer: Writer, recorder: EventRecorder) -> None:
        self._writer = writer
        self._recorder = recorder

    async def ensure(self, unit: GPUUnit, children: list[Child]) -> Outcome | None:
        """Make or mend them in their order; the first that cannot be ends it."""
        done: dict[EventReason, list[str]] = {}
        try:
            for each in children:
                step = next_step(unit, each)
                if step in (Step.CONFLICT, Step.WAIT):
                    return blocked(each, step)
                if step is Step.NOTHING:
                    continue
                failed = await self._apply(each)
                if failed is not None:
                    return failed
                reason = EventReason.CREATED if step is Step.CREATE else EventReason.UPDATED
                done.setdefault(reason, []).append(each.name)
        finally:
            for reason, names in done.items():
                self._tell(unit, reason, names)
        return None

    async def remove_service(self, unit: GPUUnit, live: Service | None) -> None:
        """Remove the Service of ports that are no more; somebody else's stays."""
        if live is None or not any(
            owner.uid == unit.metadata.uid for owner in live.metadata.owner_references
        ):
            return
        try:
            await self._writer.delete(SERVICES, key_of(live), Condition(uid=live.metadata.uid))
        except NotFoundError:
            return
        self._tell(unit, EventReason.DELETED, [f"Service {live.metadata.name}"])

    async def _apply(self, each: Child) -> Outcome | None:
        try:
            await self._write(each)
        except ConflictError:
            raise  # it has changed just now: look again
        except InvalidError as error:
            return Outcome(Verdict.failed(UnitReason.INVALID_SPEC, error.message))
        except ApiError as error:
            said = error.message if isinstance(error, StatusError) else str(error)
            verdict = Verdict.progressing(each.failure, f"{each.name}: {said}")
            return Outcome(verdict, retry=error)
        return None

    async def _write(self, each: Child) -> None:
        """Beside what others own; where the two cannot be together, without their list entries."""
        body = each.body
        if each.live is None:
            await self._writer.apply(each.kind, body)
            return
        mine = {"uid": each.live.metadata.uid}  # so that nobody else's of that name is taken over
        try:
            await self._writer.apply(each.kind, {**body, "metadata": {**body["metadata"], **mine}})
        except InvalidError:
            if not was_accepted(each):
                raise
            ours = {"metadata": mine, "spec": body["spec"]}
            await self._writer.patch(each.kind, key_of(each.live), ours)

    def _tell(self, unit: GPUUnit, reason: EventReason, names: list[str]) -> None:
        self._recorder.normal(reference(GPU_UNITS, unit), reason, f"{reason} {', '.join(names)}")


def blocked(each: Child, step: Step) -> Outcome:
    if step is Step.WAIT:
        said = f"{each.name} is being removed, and will be made anew"
        return Outcome(Verdict.progressing(UnitReason.UNIT_PROGRESSING, said))
    said = f"{each.name} exists and is not this unit's; rename or remove one of them"
    return Outcome(Verdict.failed(UnitReason.CHILD_CONFLICT, said))
