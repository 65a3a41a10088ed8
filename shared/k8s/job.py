"""Jobs, limited to the fields that the programs read."""

import msgspec

from shared.k8s.meta import ObjectMeta


class JobCondition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One observation of the job controller."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class JobStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The progress of the pods of a Job."""

    ready: int = 0
    conditions: tuple[JobCondition, ...] = ()


class Job(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An object that runs pods until one of them has succeeded."""

    metadata: ObjectMeta
    status: JobStatus = JobStatus()

    @property
    def end_condition(self) -> JobCondition | None:
        """Return the condition that ended the Job, or None.

        It is set only when no pod runs any more.
        """
        end_types = ("Complete", "Failed")
        conditions = (item for item in self.status.conditions if item.status == "True")
        return next((item for item in conditions if item.type in end_types), None)
