// The status of the page: live, old data because Kubernetes is unavailable, or no connection.

import { byId, setAttribute, setText } from "./dom.js";
import { RefusedError } from "./event_stream.js";
import { formatDuration } from "./format.js";

const OLD_SECONDS = 30; // a large cluster is read every ten seconds or so

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
let collectedAt = null; // in milliseconds of this browser's clock
let clockOffset = 0; // how far the server's clock is ahead of this one, in milliseconds

/** Handle a heartbeat of the server. */
export function onHeartbeat({ now, ageSeconds, trouble: text = "" }) {
  link = "live";
  trouble = text;
  clockOffset = Date.parse(now) - Date.now();
  collectedAt = ageSeconds === undefined || ageSeconds === null ? null : Date.now() - ageSeconds * 1000;
  tick();
}

/** Handle the loss or the refusal of the connection. */
export function onLost(error) {
  link = error instanceof RefusedError ? "refused" : "lost";
  reason = error.message;
  tick();
}

/** Update the status and all ages. */
export function tick() {
  const age = collectedAt === null ? null : (Date.now() - collectedAt) / 1000;
  const isOld = trouble !== "" || (age !== null && age > OLD_SECONDS);
  const shown = link === "live" && isOld ? "old" : link;
  setAttribute(byId("link"), "data-link", shown);
  setAttribute(document.body, "data-link", shown);
  setText(byId("link-word"), WORDS[shown]);
  setText(byId("link-age"), age === null ? "" : age < 3 ? "updated now" : `updated ${formatDuration(age)} ago`);
  showNotice(shown, age);
  for (const node of document.querySelectorAll("time")) setAge(node);
}

function showNotice(shown, age) {
  const dataState = age === null ? "There is no data yet." : "The data below is old.";
  const notice = {
    old: ["The data from Kubernetes cannot be refreshed.", `${dataState} ${trouble}`],
    lost: ["No connection to the runtime API; retrying.", `${dataState} ${reason}`],
    refused: ["The runtime API rejected the request; retrying.", `${dataState} Reason: ${reason}`],
  }[shown];
  byId("notice").hidden = notice === undefined;
  byId("notice-retry").hidden = shown === "old";
  if (notice === undefined) return;
  setText(byId("notice-title"), notice[0]);
  setText(byId("notice-text"), notice[1]);
}

/** Set the text of a `time` element to its age. */
export function setAge(node) {
  const time = Date.parse(node.dateTime);
  setText(node, Number.isNaN(time) ? "" : formatDuration((Date.now() + clockOffset - time) / 1000));
}
