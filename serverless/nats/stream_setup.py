"""Makes streams and consumers what they shall be, and writes nothing where they are."""

from typing import Final

from serverless.nats.errors import AbsentError, RefusedError
from serverless.nats.requests import JetStream, Wire

EXISTS: Final = frozenset({10058, 10065})


def differs(wanted: Wire, live: Wire) -> bool:
    """Whether one of the wanted settings is another; what the server adds does not count."""
    return any(live.get(name, False) != value for name, value in wanted.items())


async def ensure_stream(jetstream: JetStream, wanted: Wire) -> None:
    """Make the stream, or change it where it differs."""
    name = wanted["name"]
    try:
        live = await jetstream.ask(f"STREAM.INFO.{name}")
    except AbsentError:
        await create_stream(jetstream, wanted)
        return
    if differs(wanted, live["config"]):
        await jetstream.change(f"STREAM.UPDATE.{name}", {**live["config"], **wanted})


async def stream_names(jetstream: JetStream) -> set[str]:
    """Every stream that there is, a thousand and some more by one request."""
    found = set[str]()
    while True:
        said = await jetstream.ask("STREAM.NAMES", {"offset": len(found)})
        page = said.get("streams") or []
        found.update(page)
        if not page or len(found) >= said["total"]:
            return found


async def create_stream(jetstream: JetStream, wanted: Wire) -> None:
    """Make the stream; another process that was first has made the same."""
    try:
        await jetstream.change(f"STREAM.CREATE.{wanted['name']}", wanted)
    except RefusedError as error:
        if error.code not in EXISTS:
            raise


async def ensure_consumer(jetstream: JetStream, stream: str, wanted: Wire) -> None:
    """Make the consumer or change it; the server leaves one that is the same alone."""
    name, subject = wanted["name"], wanted["filter_subject"]
    body = {"stream_name": stream, "config": wanted, "action": ""}
    await jetstream.change(f"CONSUMER.CREATE.{stream}.{name}.{subject}", body)


async def delete_stream(jetstream: JetStream, name: str) -> None:
    """Remove a stream; gone already is as good."""
    try:
        await jetstream.change(f"STREAM.DELETE.{name}")
    except AbsentError:
        return


async def delete_consumer(jetstream: JetStream, stream: str, name: str) -> None:
    """Remove a consumer; gone already is as good."""
    try:
        await jetstream.change(f"CONSUMER.DELETE.{stream}.{name}")
    except AbsentError:
        return
