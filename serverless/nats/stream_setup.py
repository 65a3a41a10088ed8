"""Makes streams and consumers what they shall be, and writes nothing where they are."""

from typing import Final

from serverless.nats.errors import JetStreamApiError, JetStreamNotFoundError
from serverless.nats.requests import JetStreamClient, JsonObject

ALREADY_EXISTS_CODES: Final = frozenset({10058, 10065})


def is_different(config: JsonObject, live_config: JsonObject) -> bool:
    """Whether one of the wanted settings is another; what the server adds does not count."""
    return any(live_config.get(name, False) != value for name, value in config.items())


async def ensure_stream(jetstream: JetStreamClient, config: JsonObject) -> None:
    """Make the stream, or change it where it differs."""
    name = config["name"]
    try:
        live = await jetstream.call_api(f"STREAM.INFO.{name}")
    except JetStreamNotFoundError:
        await create_stream(jetstream, config)
        return
    if is_different(config, live["config"]):
        await jetstream.call_api_fenced(f"STREAM.UPDATE.{name}", {**live["config"], **config})


async def list_stream_names(jetstream: JetStreamClient) -> set[str]:
    """Every stream that there is, a thousand and some more by one request."""
    found = set[str]()
    while True:
        said = await jetstream.call_api("STREAM.NAMES", {"offset": len(found)})
        page = said.get("streams") or []
        found.update(page)
        if not page or len(found) >= said["total"]:
            return found


async def create_stream(jetstream: JetStreamClient, config: JsonObject) -> None:
    """Make the stream; another process that was first has made the same."""
    try:
        await jetstream.call_api_fenced(f"STREAM.CREATE.{config['name']}", config)
    except JetStreamApiError as error:
        if error.code not in ALREADY_EXISTS_CODES:
            raise


async def ensure_consumer(jetstream: JetStreamClient, stream: str, config: JsonObject) -> None:
    """Make the consumer or change it; the server leaves one that is the same alone."""
    name, subject = config["name"], config["filter_subject"]
    body = {"stream_name": stream, "config": config, "action": ""}
    await jetstream.call_api_fenced(f"CONSUMER.CREATE.{stream}.{name}.{subject}", body)


async def delete_stream(jetstream: JetStreamClient, name: str) -> None:
    """Remove a stream; gone already is as good."""
    try:
        await jetstream.call_api_fenced(f"STREAM.DELETE.{name}")
    except JetStreamNotFoundError:
        return


async def delete_consumer(jetstream: JetStreamClient, stream: str, name: str) -> None:
    """Remove a consumer; gone already is as good."""
    try:
        await jetstream.call_api_fenced(f"CONSUMER.DELETE.{stream}.{name}")
    except JetStreamNotFoundError:
        return
