"""Tests of credentials: they follow changes of their files."""

import asyncio
from dataclasses import dataclass, field

from apiserver.kube.credentials import Credentials
from apiserver.kube.kubeconfig import RestConfig
from shared.config.loader import ConfigurationError
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock


@dataclass
class Files:
    """Current contents of the files, and the number of reads."""

    held: str | None = "first"
    reads: int = field(default=0)

    async def load(self) -> RestConfig:
        self.reads += 1
        await asyncio.sleep(0)
        if self.held is None:
            raise ConfigurationError("token: there is no such file")
        return RestConfig("https://k8s", self.held)


async def credentials_of(files: Files, clock: AutoAdvanceClock) -> Credentials:
    return Credentials(files.load, await files.load(), clock)


async def test_files_are_read_again_after_a_minute_and_not_before() -> None:
    files, clock = Files(), AutoAdvanceClock()
    credentials = await credentials_of(files, clock)
    files.held = "second"
    clock.advance(59)
    assert (await credentials.fresh_config()).authorization == "first"
    clock.advance(1)
    assert (await credentials.fresh_config()).authorization == "second"


async def test_a_refused_token_is_renewed_at_once() -> None:
    files = Files()
    credentials = await credentials_of(files, AutoAdvanceClock())
    files.held = "second"
    assert (await credentials.reload(credentials.config)).authorization == "second"


async def test_many_refused_requests_read_the_files_once() -> None:
    files = Files()
    credentials = await credentials_of(files, AutoAdvanceClock())
    stale = credentials.config
    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(credentials.reload(stale))
    assert files.reads == 2


async def test_files_that_cannot_be_read_leave_the_old_credentials() -> None:
    files = Files()
    credentials = await credentials_of(files, AutoAdvanceClock())
    files.held = None
    assert (await credentials.reload(credentials.config)).authorization == "first"
