// Server-sent events over fetch. EventSource would hide why a server refuses, could not name the
// last event on a connection of its own making, and would wait for ever on one that has died.

/** The server answered, but not with events; `retryAfter` seconds until it wants to be asked. */
export class RefusedError extends Error {
  constructor(message, retryAfter) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

/** The events of one connection, each `{type, data, id, retry}`, until it ends. */
export async function* events(url, lastId, signal) {
  const headers = { Accept: "text/event-stream", ...(lastId && { "Last-Event-ID": lastId }) };
  const response = await fetch(url, { headers, signal, cache: "no-store" });
  if (!response.ok) throw await refusal(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    yield* blocks.map(parse);
  }
}

function parse(block) {
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

async function refusal(response) {
  const retryAfter = Number(response.headers.get("Retry-After")) || 0;
  try {
    return new RefusedError((await response.json()).error.message, retryAfter);
  } catch {
    return new RefusedError(`the server answered ${response.status}`, retryAfter);
  }
}
