"""A gateway behind a breaker, on virtual time."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from apiserver.circuit_breaker import MOST_FAILURES, OPEN_SECONDS, Breaker
from apiserver.kube import errors as kube_errors
from apiserver.kube.circuit_breaker_client import GuardedGateway
from apiserver.kube.no_cluster import AbsentGateway
from apiserver.kube.port import T
from apiserver.kube.request import NoSuchNameError
from apiserver.kube.resources import GPU_UNITS, Resource
from shared.k8s.meta import ObjectMeta
from shared.k8s.server_version import ServerVersion
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec
from tests.support.clocks.auto_advance_clock import VirtualClock
from tests.unit.apiserver.scripted_gateway import V1_34

DOWN = kube_errors.ClusterUnreachableError("https://k8s cannot be reached: Connection refused.")
UNIT = GPUUnit(metadata=ObjectMeta(name="one"), spec=GPUUnitSpec(spec_name="s", memory="1Gi"))


class MoodyGateway(AbsentGateway):
    """Reads and tells its version as its mood is; counts what reaches it."""

    def __init__(self) -> None:
        super().__init__("never")
        self.mood: kube_errors.ClusterError | None = None
        self.reads = 0
        self.hold: Callable[[], Awaitable[None]] | None = None

    async def version(self, *, within: float = 0.0) -> ServerVersion:
        if self.mood:
            raise self.mood
        return V1_34

    async def get(self, resource: Resource[T], namespace: str, name: str) -> T:
        self.reads += 1
        if self.hold:
            await self.hold()
        if self.mood:
            raise self.mood
        return msgspec.convert(msgspec.to_builtins(UNIT), resource.model)


class Scene:
    """A moody gateway, the guard before it, and time."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.behind = MoodyGateway()
        self.guarded = GuardedGateway(self.behind, Breaker(self.clock))

    async def read(self) -> GPUUnit:
        return await self.guarded.get(GPU_UNITS, "here", "one")

    async def fail(self, times: int, error: kube_errors.ClusterError) -> None:
        self.behind.mood = error
        for _ in range(times):
            with pytest.raises(type(error)):
                await self.read()

    async def lose(self) -> None:
        await self.fail(MOST_FAILURES, DOWN)


@pytest.fixture
async def scene() -> Scene:
    return Scene()


async def test_a_silent_server_is_no_longer_asked(scene: Scene) -> None:
    await scene.lose()
    with pytest.raises(kube_errors.ClusterNotAskedError) as failure:
        await scene.read()
    assert scene.behind.reads == MOST_FAILURES
    assert str(failure.value) == f"{DOWN} Not asked again for 5 s."
    assert failure.value.retry_after == 5


async def test_timeouts_count_too(scene: Scene) -> None:
    await scene.fail(MOST_FAILURES, kube_errors.ClusterTimeoutError("slow."))
    with pytest.raises(kube_errors.ClusterNotAskedError, match=r"^slow\. Not asked"):
        await scene.read()


@pytest.mark.parametrize(
    "error", [kube_errors.AbsentError("gone"), kube_errors.ClusterBusyError("busy")]
)
async def test_a_server_that_refuses_is_there(
    scene: Scene, error: kube_errors.ClusterError
) -> None:
    await scene.fail(MOST_FAILURES - 1, DOWN)
    await scene.fail(10, error)
    assert scene.behind.reads == MOST_FAILURES - 1 + 10
    await scene.fail(MOST_FAILURES - 1, DOWN)


async def test_one_trial_ends_the_outage(scene: Scene) -> None:
    await scene.lose()
    scene.behind.mood = None
    scene.clock.advance(OPEN_SECONDS)
    assert await scene.read() == UNIT
    assert await scene.read() == UNIT


async def test_others_fail_at_once_while_the_trial_is_in_flight(scene: Scene) -> None:
    await scene.lose()
    scene.behind.mood = None
    scene.clock.advance(OPEN_SECONDS)
    answer = asyncio.Event()

    async def wait() -> None:
        await answer.wait()

    scene.behind.hold = wait
    async with asyncio.TaskGroup() as group:
        trial = group.create_task(scene.read())
        await asyncio.sleep(0)
        for _ in range(3):
            with pytest.raises(kube_errors.ClusterNotAskedError):
                await scene.read()
        answer.set()
    assert trial.result() == UNIT
    assert scene.behind.reads == MOST_FAILURES + 1


async def test_a_trial_that_is_cancelled_leaves_room_for_the_next(scene: Scene) -> None:
    await scene.lose()
    scene.clock.advance(OPEN_SECONDS)

    async def give_up() -> None:
        raise asyncio.CancelledError

    scene.behind.hold = give_up
    with pytest.raises(asyncio.CancelledError):
        await scene.read()
    scene.behind.hold, scene.behind.mood = None, None
    assert await scene.read() == UNIT


async def test_a_name_that_is_none_says_nothing_of_the_server(scene: Scene) -> None:
    await scene.lose()
    scene.clock.advance(OPEN_SECONDS)
    await scene.fail(1, NoSuchNameError("no"))
    await scene.fail(1, DOWN)
    with pytest.raises(kube_errors.ClusterNotAskedError):
        await scene.read()


async def test_the_version_is_asked_in_any_case_and_brings_the_trial_forward(scene: Scene) -> None:
    await scene.lose()
    with pytest.raises(kube_errors.ClusterUnreachableError, match=r"refused\.$"):
        await scene.guarded.version()
    scene.behind.mood = None
    with pytest.raises(kube_errors.ClusterNotAskedError):
        await scene.read()
    assert await scene.guarded.version() == V1_34
    assert await scene.read() == UNIT


async def test_a_version_alone_does_not_end_the_outage(scene: Scene) -> None:
    """A server without its storage tells its version and nothing else."""
    await scene.lose()
    scene.behind.mood = None
    await scene.guarded.version()
    await scene.fail(1, DOWN)
    with pytest.raises(kube_errors.ClusterNotAskedError):
        await scene.read()


async def test_a_watch_is_not_begun_during_an_outage(scene: Scene) -> None:
    await scene.lose()
    with pytest.raises(kube_errors.ClusterNotAskedError):
        scene.guarded.watch(GPU_UNITS, "here", "one", "")
