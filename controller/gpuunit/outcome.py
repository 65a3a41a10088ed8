"""What came of one turn of a unit."""

from dataclasses import dataclass

from controller.gpuunit.status import Published
from controller.gpuunit.verdict import Verdict
from controller.runtime.errors import ApiError


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to report; with `retry`, also what went wrong and shall be tried again.

    Without `published` the addresses stay as they were.
    """

    verdict: Verdict
    published: Published | None = None
    retry: ApiError | None = None
