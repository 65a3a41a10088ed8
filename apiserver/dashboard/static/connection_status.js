// How good the figures are: live, old because Kubernetes is away, or cut off from the server.

import { byId, mark, say } from "./dom.js";
import { RefusedError } from "./event_stream.js";
import { span } from "./format.js";

const OLD_SECONDS = 30; // a large cluster is looked at every ten seconds or so

const WORDS = {
  connecting: "Connecting",
  live: "Live",
  old: "Old data",
  lost: "Connection lost",
  refused: "Refused",
};

let link = "connecting";
let trouble = "";
let reason = "";
let seenAt = null; // of this browser's clock, in milliseconds
let ahead = 0; // how far the server's clock is ahead of this one, in milliseconds

/** The server gave a sign of life. */
export function beat({ now, ageSeconds, trouble: text = "" }) {
  link = "live";
  trouble = text;
  ahead = Date.parse(now) - Date.now();
  seenAt = ageSeconds === undefined || ageSeconds === null ? null : Date.now() - ageSeconds * 1000;
  tick();
}

/** The connection is gone, or was refused, for a while at least. */
export function lost(error) {
  link = error instanceof RefusedError ? "refused" : "lost";
  reason = error.message;
  tick();
}

/** Bring everything that counts time up to date. */
export function tick() {
  const age = seenAt === null ? null : (Date.now() - seenAt) / 1000;
  const isOld = trouble !== "" || (age !== null && age > OLD_SECONDS);
  const shown = link === "live" && isOld ? "old" : link;
  mark(byId("link"), "data-link", shown);
  mark(document.body, "data-link", shown);
  say(byId("link-word"), WORDS[shown]);
  say(byId("link-age"), age === null ? "" : age < 3 ? "updated now" : `updated ${span(age)} ago`);
  notice(shown, age);
  for (const each of document.querySelectorAll("time")) sayAge(each);
}

function notice(shown, age) {
  const figures = age === null ? "There is no data yet." : "The data below is old.";
  const said = {
    old: ["The data from Kubernetes cannot be refreshed.", `${figures} ${trouble}`],
    lost: ["No connection to the runtime API; retrying.", `${figures} ${reason}`],
    refused: ["The runtime API rejected the request; retrying.", `${figures} Reason: ${reason}`],
  }[shown];
  byId("notice").hidden = said === undefined;
  byId("notice-retry").hidden = shown === "old";
  if (said === undefined) return;
  say(byId("notice-title"), said[0]);
  say(byId("notice-text"), said[1]);
}

/** Say how long ago the moment of a `time` element was. */
export function sayAge(node) {
  const made = Date.parse(node.dateTime);
  say(node, Number.isNaN(made) ? "" : span((Date.now() + ahead - made) / 1000));
}
