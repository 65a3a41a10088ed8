"""Writes, messages and API requests of the activator of release 0.1.0 (commit 0e22fbe).

That release made the data file. For each reconcile and each sweep over the given state, the file
has the writes to Kubernetes, the messages to the queue and the requests to the API. The password of
a worker is derived from a key; a worker's Secret may be older than the activator that admits the
worker.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, cast

import aiohttp
import msgspec
import pytest
from prometheus_client import CollectorRegistry

from controller.runtime import Manager, ManagerOptions, ObjectKey
from serverless.activator.auth.worker_credentials import parse_worker_user
from serverless.activator.config import Config
from serverless.activator.kinds import FUNCTIONS, GPU_UNITS
from serverless.activator.leader_wiring import LeaderWiring, function_names
from serverless.activator.metrics import FunctionMetrics
from serverless.activator.scaling.snapshot import FUNCTION_INDEX
from serverless.activator.wiring import PROGRAM_NAME
from serverless.activator.worker_reports import WorkerReports
from serverless.credentials.secret import missing_values
from serverless.nats.connection import QueueConnection
from serverless.nats.requests import JetStreamClient
from shared.invocation.queue_names import QueueNames
from tests.unit.golden.data import Case, cases, plain
from tests.unit.golden.recorded_cluster import RecordedCluster
from tests.unit.golden.recorded_queue import RecordedQueue

WHERE: Final = "runtime-instance"
KEY: Final = b"the key of all workers"


@dataclass
class RecordedSession:
    """HTTP session that returns the response of the case, and records the API requests."""

    status: int
    requests: list[dict[str, Any]] = field(default_factory=list)

    @asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        json: object,
        headers: Mapping[str, str],
        timeout: object,  # noqa: ASYNC109 - as in the library
    ) -> AsyncIterator["RecordedSession"]:
        given = {"headers": dict(headers)} if headers else {}
        self.requests.append({"request": f"{method} {url}", **given, "body": plain(json)})
        yield self

    async def read(self) -> bytes:
        return b'{"data":{}}'


@dataclass(frozen=True)
class Connected:
    """Open connection."""

    client: RecordedQueue


class RecordedActivator:
    """Leading activator on a given state."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.cluster = RecordedCluster(given["found"], PROGRAM_NAME)
        self.queue = RecordedQueue(given.get("kept", {}), given.get("consumers", ()))
        self.session = RecordedSession(given.get("status", 201))
        client, clock = self.cluster.client, self.cluster.clock
        options, registry = ManagerOptions(namespaces=[WHERE]), CollectorRegistry()
        manager = Manager(PROGRAM_NAME, client, options, registry, clock, Random(7))
        manager.recorder = self.cluster.recorder
        functions = manager.cache(FUNCTIONS)
        units = manager.cache(GPU_UNITS, indexers={FUNCTION_INDEX: function_names})
        self.cluster.fill([*functions.informers, *units.informers])
        connection = cast(QueueConnection, Connected(self.queue))
        self.leader = LeaderWiring(
            manager,
            msgspec.convert({"runtimeApiURL": "http://api"}, Config),
            session=cast(aiohttp.ClientSession, self.session),
            jetstream=JetStreamClient(connection),
            functions=functions,
            units=units,
            worker_reports=WorkerReports(connection, QueueNames(), clock),
            worker_key=KEY,
            metrics=FunctionMetrics(registry),
        )
        self.reconciler = self.leader.build_reconciler()


async def done(given: Mapping[str, Any]) -> dict[str, Any]:
    """Run sweeps and reconciles of the function; return the writes, messages and API requests."""
    activator = RecordedActivator(given)
    await activator.leader.queue_depths.refresh()
    for action in given["does"]:
        if action == "sweep":
            await activator.leader.sweep.run_round()
        else:
            await activator.reconciler.reconcile(ObjectKey(WHERE, "echo"))
    await activator.cluster.flush_events()
    result = {
        "writes": activator.cluster.writes,
        "sent": activator.queue.sent,
        "asked": activator.session.requests,
    }
    return {name: value for name, value in result.items() if value}


def let_in(given: Mapping[str, str]) -> list[object]:
    """Return the identity that a user name encodes, and whether the password proves it."""
    user = parse_worker_user(given["user"])
    assert user is not None
    proof = user.is_valid_password(given["password"], KEY)
    return [user.function_name, user.function_uid, user.inbox_prefix, proof]


def users(known: dict[str, str]) -> dict[str, str]:
    """Return the values to add to the Secret of the queue's users, with fixed random bytes."""
    return missing_values(known, lambda count: bytes(range(count)))


@pytest.mark.parametrize("case", cases("activator_writes", "work"))
async def test_the_writes_about_a_function_are_those_of_the_release(case: Case) -> None:
    assert await done(case.given) == case.made


@pytest.mark.parametrize("case", cases("activator_writes", "workers"))
def test_a_worker_authenticates_with_the_password_of_the_release(case: Case) -> None:
    assert let_in(case.given) == case.made


@pytest.mark.parametrize("case", cases("activator_writes", "users"))
def test_the_nats_users_are_those_of_the_release(case: Case) -> None:
    assert users(case.given) == case.made
