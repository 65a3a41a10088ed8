"""The result store of the local system, which runs if PostgreSQL is installed."""

from pathlib import Path
from typing import Any, Final

from hack.cluster.errors import ClusterError
from hack.cluster.nats_server import NATSServer
from hack.cluster.ports import HOST
from hack.cluster.process import Process
from hack.cluster.readiness import ensure_running, responds_ok, wait_until
from hack.local import product_processes
from hack.local.postgres import (
    OWNER,
    PROCESS_NAME,
    READER,
    PostgresServer,
    dsn_file,
    find_postgres_dir,
)
from hack.local.settings import LocalSettings

PROCESS_NAMES: Final = (PROCESS_NAME, product_processes.RESULT_STORE.name)


async def start_database(state_dir: Path, settings: LocalSettings) -> tuple[Process, ...]:
    """Start the database. Return empty if PostgreSQL is missing or cannot be set up."""
    binaries = find_postgres_dir()
    if binaries is None:
        print(
            "- no result store: PostgreSQL is not installed (outcomes stay in the queue for 72 h)"
        )
        return ()
    database = PostgresServer(binaries, state_dir, settings.ports[PROCESS_NAME])
    try:
        await database.init_data_dir()
    except ClusterError as error:
        print(f"- no result store: PostgreSQL cannot be set up here: {error}")
        return ()
    await database.start()
    await database.wait_ready()
    return (database.process,)


async def start_result_store(
    state_dir: Path, settings: LocalSettings, nats_server: NATSServer
) -> Process:
    """Start the result store, and wait until it is ready."""
    store = result_store_process(state_dir, settings, nats_server)
    await ensure_running(store)
    readyz = (
        f"{product_processes.program_url(settings.ports, product_processes.RESULT_STORE)}/readyz"
    )
    await wait_until(lambda: responds_ok(readyz), store)
    return store


def result_store_process(
    state_dir: Path, settings: LocalSettings, nats_server: NATSServer
) -> Process:
    """Return the process of the result store, with the local database."""
    address = f"{HOST}:{settings.ports[product_processes.RESULT_STORE.name]}"
    changes = {
        "probeAddr": address,
        "metricsAddr": address,
        "nats": product_processes.nats_settings(nats_server, product_processes.RESULT_STORE.name),
        "dsnFile": str(dsn_file(state_dir, OWNER)),
    }
    return product_processes.product_process(state_dir, product_processes.RESULT_STORE, changes)


def api_overrides(state_dir: Path) -> dict[str, Any]:
    """Return the API's settings for reading from the result store; empty without one."""
    path = dsn_file(state_dir, READER)
    return {"resultStore": {"dsnFile": str(path)}} if path.exists() else {}


def expected_processes(state_dir: Path) -> tuple[str, ...]:
    """Return the names of the processes that should run."""
    return PROCESS_NAMES if dsn_file(state_dir, OWNER).exists() else ()
