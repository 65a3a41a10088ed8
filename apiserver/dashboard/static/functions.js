// Functions, their workers and their queues.

import { byId, element, keyed, say, sayMore, showOr } from "./dom.js";
import { badge } from "./badges.js";
import { spaced } from "./format.js";

const show = keyed(byId("functions-rows"), (each) => each.name, (first) => {
  const state = badge();
  const cell = (name, ...children) => element("td", { role: "cell", class: name }, ...children);
  const [reason, message] = ["reason", "message"].map((name) => element("span", { class: name }));
  const [workers, queued, running] = ["workers", "queued", "running"].map((label) => {
    const made = cell("number");
    made.dataset.label = label;
    return made;
  });
  const name = element("th", { role: "rowheader", scope: "row", class: "name" }, first.name);
  const node = element("tr", { role: "row" }, name, cell("state", state.node, reason, message), cell("spec", first.specName), workers, queued, running);
  const update = (seen) => {
    const isTroubled = seen.state === "Failed" || seen.state === "Degraded";
    state.update(seen.state);
    say(reason, isTroubled ? spaced(seen.reason ?? "") : "");
    say(message, isTroubled ? seen.message ?? "" : "");
    say(workers, `${seen.ready ?? 0} of ${seen.wanted ?? 0}`);
    workers.title = `at most ${seen.most ?? 0}`;
    say(queued, (seen.queued ?? 0).toLocaleString("en"));
    say(running, (seen.running ?? 0).toLocaleString("en"));
  };
  return { node, update };
});

/** Show the functions of a view. */
export function showFunctions({ listed }) {
  show(listed.rows);
  showOr(document.querySelector("table.functions"), byId("functions-empty"), listed.rows.length > 0);
  sayMore(byId("functions-more"), listed.more, "functions");
}
