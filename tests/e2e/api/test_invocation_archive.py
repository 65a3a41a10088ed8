"""Outcomes that only the result store still has."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from apiserver.http.paths import FUNCTIONS, INVOCATIONS, invocation
from serverless.resultstore.row import row
from serverless.resultstore.table import MIGRATION, UPSERT
from shared.invocation.message import Outcome
from shared.invocation.record import Body, Result
from shared.invocation.state import State
from tests.support.cluster.isolated_installation import Site
from tests.support.cluster.our_api import serving
from tests.support.cluster.postgres import MISSING, DatabaseServer, new_postgres, programs
from tests.support.http.api_client import Caller
from tests.support.queue.invocation_api import nats_settings, queue_connected
from tests.support.queue.nats_server import new_queue
from tests.support.wait.eventually import eventually

PROGRAMS = programs()
YEAR_2020, HOUR = 1_577_836_800_000, 3_600_000

pytestmark = pytest.mark.skipif(PROGRAMS is None, reason=MISSING)


@pytest.fixture
async def database() -> AsyncIterator[DatabaseServer]:
    """A database with the table of outcomes, which is empty."""
    assert PROGRAMS is not None
    async with new_postgres(PROGRAMS) as server:
        connection = await asyncpg.connect(server.dsn)
        await connection.execute(MIGRATION)
        await connection.close()
        yield server


@pytest.fixture
async def api(site: Site, tmp_path: Path, database: DatabaseServer) -> AsyncIterator[Caller]:
    """An API that may read the database."""
    (tmp_path / "dsn").write_text(database.dsn)
    async with new_queue(tmp_path / "queue") as queue:
        more = {"nats": nats_settings(queue), "resultStore": {"dsnFile": str(tmp_path / "dsn")}}
        async with serving(site, tmp_path / "api", **more) as product:
            caller = Caller(product.url)
            await queue_connected(caller)
            yield caller


def outcome(uid: str, number: int, run: int = 1) -> Outcome:
    at = YEAR_2020 + number * HOUR
    return Outcome(
        function_uid=uid,
        request_id="echo",
        invocation_id=f"old-{number}",
        run=run,
        state=State.SUCCEEDED if number % 2 else State.FAILED,
        attempts=1,
        worker="echo-1",
        accepted_at=at - 2000,
        started_at=at - 1000,
        finished_at=at,
        result=Result(status_code=200, body=Body(inline=b"hello", size=5)),
    )


async def test_what_the_queue_has_forgotten_is_still_found(
    api: Caller, database: DatabaseServer
) -> None:
    made = {"operationID": "1", "name": "echo", "specName": "g1.1", "image": "a"}
    uid = (await api.post(FUNCTIONS, made)).data["uid"]
    connection = await asyncpg.connect(database.dsn)
    told = [*(outcome(uid, number) for number in range(5)), outcome(uid, 3, run=2)]
    strangers = [outcome("another", number) for number in range(5, 7)]
    await connection.executemany(UPSERT, [row(each) for each in (*told, *strangers)])
    await connection.close()
    await api.post(INVOCATIONS, {"serverlessRequestID": "echo", "invocationID": "new"})

    found = (await api.get(invocation("echo", "old-3"))).data
    assert (found["run"], found["state"], found["result"]["body"]) == (2, "succeeded", "hello")
    assert (found["queueMilliseconds"], found["runMilliseconds"]) == (1000, 1000)
    assert (await api.get(invocation("echo", "old-9"))).status == 404

    assert await listed(api, "limit=3") == [
        ("new", 1),
        ("old-4", 1),
        ("old-3", 2),
        ("old-3", 1),
        ("old-2", 1),
        ("old-1", 1),
        ("old-0", 1),
    ]
    assert await listed(api, "limit=2&state=succeeded") == [
        ("old-3", 2),
        ("old-3", 1),
        ("old-1", 1),
    ]
    assert await listed(api, "state=queued") == [("new", 1)]
    window = "since=2020-01-01T01:00:00Z&until=2020-01-01T03:00:00Z"
    assert await listed(api, window) == [("old-2", 1), ("old-1", 1)]
    for wrong in ("since=yesterday", "until=2020-01-01T01:00:00", "continue=a1.nonsense"):
        assert (await api.get(f"{INVOCATIONS}?{wrong}")).status == 400


async def listed(api: Caller, query: str) -> list[tuple[str, int]]:
    """The whole list, part by part."""
    found, token = list[tuple[str, int]](), ""
    while True:
        page = await api.get(f"{INVOCATIONS}?requestID=echo&{query}{token}")
        assert page.status == 200, page.body
        found += [(each["invocationID"], each["run"]) for each in page.data]
        if "continue" not in page.meta:
            return found
        token = f"&continue={page.meta['continue']}"


async def test_a_database_that_is_down_hides_nothing_of_the_queue(
    api: Caller, database: DatabaseServer
) -> None:
    made = {"operationID": "1", "name": "echo", "specName": "g1.1", "image": "a"}
    await api.post(FUNCTIONS, made)
    await api.post(INVOCATIONS, {"serverlessRequestID": "echo", "invocationID": "new"})
    await database.process.stop()
    assert (await api.get(invocation("echo", "new"))).status == 200
    assert (await api.get(f"{INVOCATIONS}?requestID=echo")).status == 200
    down = await eventually(
        lambda: api.get(invocation("echo", "old")), lambda answer: answer.status == 503
    )
    assert down.error["code"] == "service_unavailable"
