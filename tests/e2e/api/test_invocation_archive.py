"""Outcomes that only the result store still has."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from apiserver.http.paths import FUNCTIONS, INVOCATIONS, invocation_path
from serverless.resultstore.row import outcome_row_of
from serverless.resultstore.store import MIGRATION_SQL, UPSERT_SQL
from shared.invocation.message import OutcomeMessage
from shared.invocation.record import InvocationBody, InvocationResult
from shared.invocation.state import InvocationState
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.cluster.postgres import (
    SKIP_REASON,
    PostgresServer,
    find_postgres_dir,
    new_postgres,
)
from tests.support.cluster.running_product import run_api
from tests.support.http.api_client import ApiClient
from tests.support.queue.invocation_api import nats_settings, wait_queue_connected
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually

PROGRAMS = find_postgres_dir()
YEAR_2020, HOUR = 1_577_836_800_000, 3_600_000

pytestmark = pytest.mark.skipif(PROGRAMS is None, reason=SKIP_REASON)


@pytest.fixture
async def database() -> AsyncIterator[PostgresServer]:
    """Start a database with an empty table of outcomes."""
    assert PROGRAMS is not None
    async with new_postgres(PROGRAMS) as server:
        connection = await asyncpg.connect(server.dsn)
        await connection.execute(MIGRATION_SQL)
        await connection.close()
        yield server


@pytest.fixture
async def api(
    installation: IsolatedInstallation, tmp_path: Path, database: PostgresServer
) -> AsyncIterator[ApiClient]:
    """Run an API that has read access to the database."""
    (tmp_path / "dsn").write_text(database.dsn)
    async with new_nats_server(tmp_path / "queue") as queue:
        settings = {"nats": nats_settings(queue), "resultStore": {"dsnFile": str(tmp_path / "dsn")}}
        async with run_api(installation, tmp_path / "api", **settings) as product:
            caller = ApiClient(product.url)
            await wait_queue_connected(caller)
            yield caller


def outcome(uid: str, number: int, run: int = 1) -> OutcomeMessage:
    finished_at = YEAR_2020 + number * HOUR
    return OutcomeMessage(
        function_uid=uid,
        function_name="echo",
        invocation_id=f"old-{number}",
        run=run,
        state=InvocationState.SUCCEEDED if number % 2 else InvocationState.FAILED,
        attempts=1,
        worker="echo-1",
        accepted_at=finished_at - 2000,
        started_at=finished_at - 1000,
        finished_at=finished_at,
        result=InvocationResult(status_code=200, body=InvocationBody(inline=b"hello", size=5)),
    )


async def test_invocations_that_nats_no_longer_has_are_read_from_the_archive(
    api: ApiClient, database: PostgresServer
) -> None:
    function_request = {"operationID": "1", "name": "echo", "specName": "g1.1", "image": "a"}
    uid = (await api.post(FUNCTIONS, function_request)).data["uid"]
    connection = await asyncpg.connect(database.dsn)
    outcomes = [*(outcome(uid, number) for number in range(5)), outcome(uid, 3, run=2)]
    other_outcomes = [outcome("another", number) for number in range(5, 7)]
    await connection.executemany(
        UPSERT_SQL, [outcome_row_of(item) for item in (*outcomes, *other_outcomes)]
    )
    await connection.close()
    await api.post(INVOCATIONS, {"serverlessRequestID": "echo", "invocationID": "new"})

    invocation = (await api.get(invocation_path("echo", "old-3"))).data
    assert (invocation["run"], invocation["state"]) == (2, "succeeded")
    assert invocation["result"]["body"] == "hello"
    assert (invocation["queueMilliseconds"], invocation["runMilliseconds"]) == (1000, 1000)
    assert (await api.get(invocation_path("echo", "old-9"))).status == 404

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
    for invalid in ("since=yesterday", "until=2020-01-01T01:00:00", "continue=a1.nonsense"):
        assert (await api.get(f"{INVOCATIONS}?{invalid}")).status == 400


async def listed(api: ApiClient, query: str) -> list[tuple[str, int]]:
    """Return the whole list, read page by page."""
    rows, token = list[tuple[str, int]](), ""
    while True:
        page = await api.get(f"{INVOCATIONS}?requestID=echo&{query}{token}")
        assert page.status == 200, page.body
        rows += [(invocation["invocationID"], invocation["run"]) for invocation in page.data]
        if "continue" not in page.meta:
            return rows
        token = f"&continue={page.meta['continue']}"


async def test_invocations_in_the_queue_are_readable_while_the_database_is_down(
    api: ApiClient, database: PostgresServer
) -> None:
    function_request = {"operationID": "1", "name": "echo", "specName": "g1.1", "image": "a"}
    await api.post(FUNCTIONS, function_request)
    await api.post(INVOCATIONS, {"serverlessRequestID": "echo", "invocationID": "new"})
    await database.process.stop()
    assert (await api.get(invocation_path("echo", "new"))).status == 200
    assert (await api.get(f"{INVOCATIONS}?requestID=echo")).status == 200
    down = await eventually(
        lambda: api.get(invocation_path("echo", "old")), lambda response: response.status == 503
    )
    assert down.error["code"] == "service_unavailable"
