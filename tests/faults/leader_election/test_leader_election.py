"""Processes that elect a leader on a real API server, under faults of every part."""

import secrets
import signal
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from controller.runtime.leader.rules import ElectionSettings
from hack.cluster.control_plane import ControlPlane
from tests.faults.leader_election.election import CandidateProcess, Election, run_election
from tests.faults.leader_election.leaderships import Leadership, overlaps, read_leaderships
from tests.support.wait.eventually import eventually

# The shortest lease for a slow machine, on which a request may take a second or more.
SHORT = ElectionSettings(
    "short", lease_duration_seconds=5, renew_deadline_seconds=3.5, retry_period_seconds=0.5
)
# A lease that no candidate loses on a busy machine.
STEADY = ElectionSettings(
    "steady", lease_duration_seconds=12, renew_deadline_seconds=8.0, retry_period_seconds=0.5
)
# A lease longer than the test's wait: only a released lease can be acquired in time.
LONG = ElectionSettings(
    "long", lease_duration_seconds=120, renew_deadline_seconds=60.0, retry_period_seconds=0.5
)
# A margin for a busy machine.
MARGIN_SECONDS = 20.0
EXPIRY_SECONDS = SHORT.lease_duration_seconds + SHORT.jittered_wait_seconds(1.0) + MARGIN_SECONDS
RELEASE_SECONDS = LONG.jittered_wait_seconds(1.0) + MARGIN_SECONDS

Fault = Callable[[CandidateProcess], Awaitable[None]]
Elect = Callable[[int, ElectionSettings], AbstractAsyncContextManager[Election]]
COUNTS = pytest.mark.parametrize("count", [2, 3], ids=["two", "three"])


@pytest.fixture
def elect(control_plane: ControlPlane, run_dir: Path) -> Elect:
    """Return a function that begins an election of `count` candidates over a new Lease."""
    state_dir = run_dir / f"election-{secrets.token_hex(4)}"
    state_dir.mkdir()
    return lambda count, settings: run_election(control_plane, state_dir, count, settings)


async def kill(leader: CandidateProcess) -> None:
    await leader.process.kill()


async def pause(leader: CandidateProcess) -> None:
    await leader.process.pause()


async def resume(leader: CandidateProcess) -> None:
    leader.process.resume()


async def cut_off(leader: CandidateProcess) -> None:
    leader.proxy.refuse()
    leader.proxy.cut()


async def stall(leader: CandidateProcess) -> None:
    leader.proxy.stall()


async def reconnect(leader: CandidateProcess) -> None:
    leader.proxy.clear_faults()


async def block(leader: CandidateProcess) -> None:
    leader.block_event_loop()


async def nothing(leader: CandidateProcess) -> None:
    pass


@COUNTS
@pytest.mark.parametrize(
    ("inject", "heal"),
    [
        pytest.param(kill, nothing, id="killed"),
        pytest.param(pause, resume, id="stopped-and-continued"),
        pytest.param(cut_off, reconnect, id="cut-off"),
        pytest.param(stall, reconnect, id="stalled"),
        pytest.param(block, nothing, id="blocked"),
    ],
)
async def test_a_failed_leader_has_one_successor_and_their_leaderships_never_overlap(
    elect: Elect, count: int, inject: Fault, heal: Fault
) -> None:
    async with elect(count, SHORT) as election:
        old = await election.wait_leader()
        await inject(old)
        await election.wait_successor(old, timeout_seconds=EXPIRY_SECONDS)
        await heal(old)
        await election.wait_further_acts()


async def test_a_leader_whose_event_loop_is_blocked_ends_itself(
    elect: Elect,
) -> None:
    async with elect(2, STEADY) as election:
        leader = await election.wait_leader()
        leader.block_event_loop()
        await eventually(leader.has_ended)
        assert "did not stop in time" in await leader.log_text()


@COUNTS
async def test_there_is_no_leader_during_an_api_server_outage_and_one_after_it(
    control_plane: ControlPlane, elect: Elect, count: int
) -> None:
    async with elect(count, SHORT) as election:
        await election.wait_leader()
        await control_plane.kube_apiserver.kill()
        try:
            await election.wait_no_leader(seconds=SHORT.retry_period_seconds)
        finally:
            control_plane.kube_apiserver.start()
            await control_plane.wait_apiserver_ready()
        await election.wait_further_acts()


@COUNTS
async def test_a_leader_that_stops_cleanly_releases_its_lease(elect: Elect, count: int) -> None:
    async with elect(count, LONG) as election:
        old = await election.wait_leader()
        assert await old.process.signal_and_wait(signal.SIGTERM) == 0
        assert (await election.leaderships())[0].was_released
        await election.wait_successor(old, timeout_seconds=RELEASE_SECONDS)
        await election.wait_further_acts()


def test_the_overlap_check_finds_two_leaders(tmp_path: Path) -> None:
    log = tmp_path / "leaderships"
    log.write_text(
        "1000000000 a begin\n2000000000 a beat\n3000000000 b begin\n"
        "4000000000 a beat\n5000000000 b end\n6000000000 a begin\n"
    )
    first, second, third = read_leaderships(log)
    assert first == Leadership("a", 1.0, 4.0, 2, was_released=False)
    assert overlaps([first, second, third]) == [(first, second)]
