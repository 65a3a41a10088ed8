"""The runtime API as a process with its account, on one site."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hack.local import product_processes
from tests.support.cluster.isolated_installation import Site
from tests.support.cluster.product_processes import Running, running
from tests.support.cluster.running_product import api_settings


@asynccontextmanager
async def serving(site: Site, home: Path, **changes: Any) -> AsyncIterator[Running]:
    """A ready API for the length of the block; its log is in a file, so that it never blocks."""
    async with running(
        product_processes.RUNTIME_API, home, {**api_settings(site), **changes}
    ) as product:
        yield product
