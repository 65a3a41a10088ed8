"""The result store of the local system: it runs where the machine has PostgreSQL."""

from pathlib import Path
from typing import Any, Final

from hack.cluster.errors import ClusterError
from hack.cluster.nats_server import QueueServer
from hack.cluster.ports import HOST
from hack.cluster.process import Process
from hack.cluster.readiness import answers, ensure, until
from hack.local import product_processes
from hack.local.postgres import OWNER, PROCESS, READER, DatabaseServer, dsn_file, programs
from hack.local.settings import Settings

NAMES: Final = (PROCESS, product_processes.RESULT_STORE.name)


async def start_database(home: Path, wanted: Settings) -> tuple[Process, ...]:
    """The database, or nothing where there is no PostgreSQL to be had."""
    binaries = programs()
    if binaries is None:
        print(
            "- no result store: PostgreSQL is not installed (outcomes stay in the queue for 72 h)"
        )
        return ()
    database = DatabaseServer(binaries, home, wanted.ports[PROCESS])
    try:
        await database.prepare()
    except ClusterError as error:
        print(f"- no result store: PostgreSQL cannot be set up here: {error}")
        return ()
    await database.start()
    await database.ready()
    return (database.process,)


async def start_store(home: Path, wanted: Settings, queue: QueueServer) -> Process:
    """The result store, ready."""
    store = process(home, wanted, queue)
    await ensure(store)
    readyz = f"{product_processes.url(wanted.ports, product_processes.RESULT_STORE)}/readyz"
    await until(lambda: answers(readyz), store)
    return store


def process(home: Path, wanted: Settings, queue: QueueServer) -> Process:
    """The result store on the local database."""
    address = f"{HOST}:{wanted.ports[product_processes.RESULT_STORE.name]}"
    changes = {
        "probeAddr": address,
        "metricsAddr": address,
        "nats": product_processes.queue_access(queue, product_processes.RESULT_STORE.name),
        "dsnFile": str(dsn_file(home, OWNER)),
    }
    return product_processes.process(home, product_processes.RESULT_STORE, changes)


def api_settings(home: Path) -> dict[str, Any]:
    """How the API reads what the result store has written, where there is one."""
    path = dsn_file(home, READER)
    return {"resultStore": {"dsnFile": str(path)}} if path.exists() else {}


def expected(home: Path) -> tuple[str, ...]:
    """The processes that should run here."""
    return NAMES if dsn_file(home, OWNER).exists() else ()
