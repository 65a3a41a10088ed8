"""A minimal ingress: parses the body, publishes it once, responds."""

import argparse

import msgspec
import nats
from aiohttp import web
from nats.aio.client import Client

from shared.invocation.queue_names import QueueNames

NATS_CLIENT = web.AppKey("client", Client)


async def accept(request: web.Request) -> web.Response:
    """Publish the body, and wait until the stream has stored it."""
    body = await request.read()
    invocation = msgspec.json.decode(body, type=dict[str, object])
    subject = QueueNames().call_subject("bare", str(invocation["invocationID"]))
    reply = await request.app[NATS_CLIENT].request(subject, body, timeout=5.0)
    return web.Response(body=reply.data, status=202, content_type="application/json")


async def application(url: str) -> web.Application:
    """Return the web application."""
    app = web.Application()
    app[NATS_CLIENT] = await nats.connect(url)
    app.router.add_post("/", accept)
    return app


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.api.direct_publisher", description=__doc__
    )
    parser.add_argument("url")
    parser.add_argument("port", type=int)
    options = parser.parse_args()
    web.run_app(
        application(options.url), host="127.0.0.1", port=options.port, access_log=None, print=None
    )


if __name__ == "__main__":
    main()
