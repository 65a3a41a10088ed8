"""Tests of credentials: they follow changes of their files."""

import asyncio
from dataclasses import dataclass, field

from apiserver.kube.credentials import Credentials
from apiserver.kube.kubeconfig import RestConfig
from shared.config.loader import ConfigurationError
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock


@dataclass
class Files:
    """Current content of the token file, and the number of reads."""

    content: str | None = "first"
    reads: int = field(default=0)

    async def load(self) -> RestConfig:
        self.reads += 1
        await asyncio.sleep(0)
        if self.content is None:
            raise ConfigurationError("token: there is no such file")
        return RestConfig("https://k8s", self.content)


async def credentials_of(files: Files, clock: AutoAdvanceClock) -> Credentials:
    return Credentials(files.load, await files.load(), clock)


async def test_credentials_are_reloaded_after_a_minute() -> None:
    files, clock = Files(), AutoAdvanceClock()
    credentials = await credentials_of(files, clock)
    files.content = "second"
    clock.advance(59)
    assert (await credentials.fresh_config()).authorization == "first"
    clock.advance(1)
    assert (await credentials.fresh_config()).authorization == "second"


async def test_a_refused_token_is_reloaded_at_once() -> None:
    files = Files()
    credentials = await credentials_of(files, AutoAdvanceClock())
    files.content = "second"
    assert (await credentials.reload(credentials.config)).authorization == "second"


async def test_many_refused_requests_reload_the_credentials_once() -> None:
    files = Files()
    credentials = await credentials_of(files, AutoAdvanceClock())
    stale = credentials.config
    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(credentials.reload(stale))
    assert files.reads == 2


async def test_unreadable_files_leave_the_old_credentials() -> None:
    files = Files()
    credentials = await credentials_of(files, AutoAdvanceClock())
    files.content = None
    assert (await credentials.reload(credentials.config)).authorization == "first"
