"""The runtime API as a process with its account, on one site."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hack.local import product_processes
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.cluster.product_processes import ProductProcess, run_product_process
from tests.support.cluster.running_product import api_settings


@asynccontextmanager
async def run_api(
    installation: IsolatedInstallation, state_dir: Path, **changes: Any
) -> AsyncIterator[ProductProcess]:
    """A ready API for the length of the block; its log is in a file, so that it never blocks."""
    async with run_product_process(
        product_processes.RUNTIME_API, state_dir, {**api_settings(installation), **changes}
    ) as product:
        yield product
