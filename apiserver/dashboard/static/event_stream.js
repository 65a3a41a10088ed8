// Server-sent events over fetch. EventSource hides the reason of an error response, cannot send the
// id of the last event on a new connection, and does not notice a dead connection.

/** An error response of the server; `retryAfter` is its Retry-After in seconds, or 0. */
export class RefusedError extends Error {
  constructor(message, retryAfter) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

/** Yield the events of one connection, each `{type, data, id, retry}`, until it ends. */
export async function* events(url, lastId, signal) {
  const headers = { Accept: "text/event-stream", ...(lastId && { "Last-Event-ID": lastId }) };
  const response = await fetch(url, { headers, signal, cache: "no-store" });
  if (!response.ok) throw await refusedError(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let partial = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (partial + value).split("\n\n");
    partial = blocks.pop();
    yield* blocks.map(parseEvent);
  }
}

function parseEvent(block) {
  const event = { type: "message", data: "", id: "", retry: 0 };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (line.startsWith("event:")) event.type = value;
    else if (line.startsWith("data:")) event.data += value;
    else if (line.startsWith("id:")) event.id = value;
    else if (line.startsWith("retry:")) event.retry = Number(value);
  }
  return event;
}

async function refusedError(response) {
  const retryAfter = Number(response.headers.get("Retry-After")) || 0;
  try {
    return new RefusedError((await response.json()).error.message, retryAfter);
  } catch {
    return new RefusedError(`the server answered ${response.status}`, retryAfter);
  }
}
