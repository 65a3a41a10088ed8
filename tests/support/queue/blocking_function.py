"""A function with real workers on a site, whose invocations end only when the test lets them."""

from collections.abc import Set
from pathlib import Path
from typing import Any

from apiserver.http.paths import INVOCATIONS, invocation
from shared.invocation.queue_names import record_key
from shared.invocation.state import State
from shared.invocation.worker_report import WorkerReport
from tests.support.builders.simulated_units import pods_of
from tests.support.http.api_client import Caller
from tests.support.queue.function_harness import FunctionWorld
from tests.support.queue.functions_client import Functions
from tests.support.queue.recording_function import NOTEBOOK, executions
from tests.support.wait.eventually import eventually

SECONDS = 120.0
# Some more than any pod is given, however short its grace period is.
LAST_SECONDS = 5.0


class HeldFunction:
    """What callers and operators do with it, and what they see of its workers."""

    def __init__(self, functions: Functions, api: Caller, name: str, folder: Path) -> None:
        self.world = FunctionWorld(functions.client, name)
        self._functions = functions
        self._api = api
        self._name = name
        self._gate = folder / "gate"
        self._notebook = folder / "notebook"

    async def invoke(self, *names: str) -> None:
        """Send some invocations, one after the other."""
        attributes = {"until": str(self._gate), "sleepSeconds": LAST_SECONDS}
        for each in names:
            body = {"serverlessRequestID": self._name, "invocationID": each}
            answer = await self._api.post(INVOCATIONS, {**body, "attributes": attributes})
            assert answer.status == 202, answer.body
            self.world.accepted.append(record_key(self._name, each))

    async def cancel(self, invocation_id: str) -> None:
        answer = await self._api.delete(invocation(self._name, invocation_id))
        assert answer.status == 200, answer.body

    async def change(self, **spec: Any) -> None:
        """What `kubectl edit` would do to it."""
        await self._functions.change(self._name, **spec)

    async def evict(self, worker: str, **options: Any) -> None:
        """What `kubectl drain` does to the pod of a worker."""
        site = self._functions.site
        (pod,) = await pods_of(site, worker)
        about = {"metadata": {"name": pod["metadata"]["name"]}, "deleteOptions": options}
        path = f"{site.path('pods', pod['metadata']['name'])}/eviction"
        await site.admin.create(path, {"apiVersion": "policy/v1", "kind": "Eviction", **about})

    async def runner_of(self, invocation_id: str, attempt: int = 1) -> str:
        """The worker on which the code of an attempt has begun."""
        call = (invocation_id, attempt)
        await eventually(self.calls, lambda noted: call in noted, seconds=SECONDS)
        record, _ = await self.world.read(invocation_id)
        assert (record.state, record.attempts) == (State.RUNNING, attempt)
        return record.worker

    async def removed(self, workers: Set[str]) -> str:
        """The first of these workers whose unit is gone."""

        async def look() -> Set[str]:
            units = await self._functions.workers(self._name)
            return workers - {unit["metadata"]["name"] for unit in units}

        (gone,) = await eventually(look, seconds=SECONDS)
        return gone

    async def drains(self, worker: str) -> None:
        """Wait until a worker takes nothing more, while its pod ends and its invocation runs."""
        await eventually(lambda: self.world.report(worker), is_draining_one, seconds=SECONDS)
        (pod,) = await pods_of(self._functions.site, worker)
        assert "deletionTimestamp" in pod["metadata"]

    def let_go(self) -> None:
        """Whatever runs, or will, may end."""
        self._gate.touch()

    async def over(self) -> dict[str, tuple[State, int]]:
        """The outcomes with their attempts, once all is over and the promise has been kept."""
        await eventually(self.world.nothing_is_queued, seconds=SECONDS)
        self.world.executions = executions(self._notebook)
        seen = await self.world.over(seconds=SECONDS)
        return {each.invocation_id: (each.state, each.attempts) for each in seen.outcomes}

    async def calls(self) -> list[tuple[str, int]]:
        """Every call of the code, by invocation and attempt."""
        noted = executions(self._notebook) if self._notebook.exists() else []
        return sorted((each.invocation_id, each.attempt) for each in noted)


async def held_function(
    functions: Functions, api: Caller, spec_name: str, folder: Path, **spec: Any
) -> HeldFunction:
    """A new function, every record of which is kept in all its versions."""
    template = {
        "command": ["python", "-m", "tests.support.queue.recording_function"],
        "envs": [{"name": NOTEBOOK, "value": str(folder / "notebook")}],
    }
    asked = {"image": "local/noting", "template": template, "timeoutSeconds": 280, **spec}
    name = await functions.create(spec_name, **asked)
    made = HeldFunction(functions, api, name, folder)
    await made.world.remember()
    return made


def is_draining_one(report: WorkerReport | None) -> bool:
    """Whether a worker says that it takes nothing more, and still runs something."""
    return report is not None and report.draining and report.running == 1
