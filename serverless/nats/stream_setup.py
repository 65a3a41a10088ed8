"""Creates, updates and deletes streams and consumers."""

from typing import Final

from serverless.nats.errors import JetStreamApiError, JetStreamNotFoundError
from serverless.nats.requests import JetStreamClient, JsonObject
from shared.invocation.jetstream import STREAM_NAME_IN_USE, STREAM_SUBJECT_OVERLAP

ALREADY_EXISTS_CODES: Final = frozenset({STREAM_NAME_IN_USE, STREAM_SUBJECT_OVERLAP})


def is_different(config: JsonObject, live_config: JsonObject) -> bool:
    """Whether a desired setting differs from the live one; settings of the server are ignored."""
    return any(live_config.get(name, False) != value for name, value in config.items())


async def ensure_stream(jetstream: JetStreamClient, config: JsonObject) -> None:
    """Create the stream, or update it if it differs."""
    name = config["name"]
    try:
        live = await jetstream.call_api(f"STREAM.INFO.{name}")
    except JetStreamNotFoundError:
        await create_stream(jetstream, config)
        return
    if is_different(config, live["config"]):
        await jetstream.call_api_fenced(f"STREAM.UPDATE.{name}", {**live["config"], **config})


async def list_stream_names(jetstream: JetStreamClient) -> set[str]:
    """Return the names of all streams; one request returns more than a thousand."""
    names = set[str]()
    while True:
        reply = await jetstream.call_api("STREAM.NAMES", {"offset": len(names)})
        page = reply.get("streams") or []
        names.update(page)
        if not page or len(names) >= reply["total"]:
            return names


async def create_stream(jetstream: JetStreamClient, config: JsonObject) -> None:
    """Create the stream; do nothing if it exists, because another process created the same."""
    try:
        await jetstream.call_api_fenced(f"STREAM.CREATE.{config['name']}", config)
    except JetStreamApiError as error:
        if error.code not in ALREADY_EXISTS_CODES:
            raise


async def ensure_consumer(jetstream: JetStreamClient, stream: str, config: JsonObject) -> None:
    """Create or update the consumer; the server ignores an equal configuration."""
    name, subject = config["name"], config["filter_subject"]
    body = {"stream_name": stream, "config": config, "action": ""}
    await jetstream.call_api_fenced(f"CONSUMER.CREATE.{stream}.{name}.{subject}", body)


async def delete_stream(jetstream: JetStreamClient, name: str) -> None:
    """Delete a stream; do nothing if it does not exist."""
    try:
        await jetstream.call_api_fenced(f"STREAM.DELETE.{name}")
    except JetStreamNotFoundError:
        return


async def delete_consumer(jetstream: JetStreamClient, stream: str, name: str) -> None:
    """Delete a consumer; do nothing if it does not exist."""
    try:
        await jetstream.call_api_fenced(f"CONSUMER.DELETE.{stream}.{name}")
    except JetStreamNotFoundError:
        return
