"""Operations as release 0.1.0 (commit 0e22fbe) stored them for HTTP requests.

That release made the data file. It has requests and the writes for them. A repeated
request must have the hash of its operation. A process that resumes an operation of a stopped
process must get the same result as the stopped process.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.golden.data import Case, cases, cases_by_name
from tests.unit.golden.recorded_api import RecordedServer, RecordedWorld, asked, written

REQUESTS = cases_by_name("operations", "requests")
BEGUN = {
    name: case
    for name, case in REQUESTS.items()
    if case.made["writes"][0]["at"].startswith("operations ")
}
INTERRUPTED = [
    pytest.param(case, count, id=f"{name}, after {count} of {len(case.made['writes'])} writes")
    for name, case in BEGUN.items()
    for count in range(1, len(case.made["writes"]))
]


def left_by(case: Case, count: int) -> dict[str, Any]:
    """Return the state after a process crashed after its first `count` writes."""
    return {**case.given, "writes": case.made["writes"][:count]}


async def resumed(given: Mapping[str, Any]) -> RecordedWorld:
    """Return the world after another process has resumed the unfinished operation."""
    world = RecordedWorld(given)
    await world.resume()
    return world


def lean(value: Any) -> Any:
    """Return the value without empty parts, which an operation does not store."""
    if not isinstance(value, dict):
        return value
    parts = {name: lean(part) for name, part in value.items()}
    return {name: part for name, part in parts.items() if part != {}}


async def gone_on(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the writes after a request's first writes and the writes of other clients."""
    left = left_by(REQUESTS[given["of"]], given["first"])
    world = {**left, "writes": [*left["writes"], *given["then"]]}
    return await asked(world) if given["again"] else written(await resumed(world))


@pytest.mark.parametrize("case", cases("operations", "requests"))
async def test_a_request_has_the_operation_and_the_objects_of_the_release(case: Case) -> None:
    assert await asked(case.given) == case.made


@pytest.mark.parametrize(("case", "count"), INTERRUPTED)
async def test_a_stored_operation_is_resumed_with_the_same_result(case: Case, count: int) -> None:
    world = await resumed(left_by(case, count))

    finished = RecordedServer({**case.given, **case.made})
    assert lean(world.server.objects) == lean(finished.objects)


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in BEGUN.items()])
async def test_a_stored_operation_replays_the_request_that_began_it(case: Case) -> None:
    world = RecordedWorld({**case.given, **case.made})
    before = dict(world.server.objects)

    status = await world.ask(case.given)

    assert (status, world.server.objects) == (200, before)


@pytest.mark.parametrize("case", cases("operations", "troubled"))
async def test_a_stored_operation_continues_after_a_failure(case: Case) -> None:
    assert await gone_on(case.given) == case.made
