// What is under way, and what has failed.

import { byId, element, keyed, mark, say, sayMore, showOr } from "./dom.js";
import { sayAge } from "./connection_status.js";
import { badge } from "./badges.js";
import { spaced } from "./format.js";

const show = keyed(byId("operations-rows"), (operation) => operation.operationID, (first) => {
  const state = badge();
  const id = element("code", { class: "id" }, first.operationID);
  const title = element("span", { class: "name" }, spaced(first.type));
  const progress = element("progress", { "aria-label": `Progress of ${first.operationID}` });
  const [figure, message] = ["figure", "message"].map((name) => element("span", { class: name }));
  const age = element("time", { datetime: first.createdAt ?? "" });
  const node = element("li", {}, title, id, state.node, progress, figure, age, message);
  const update = ({ state: phase, created = 0, requested = 0, message: text = "", createdAt = "" }) => {
    state.update(phase);
    progress.max = Math.max(1, requested);
    progress.value = created;
    mark(progress, "data-state", phase);
    say(figure, `${created} of ${requested}`);
    say(message, text);
    mark(age, "datetime", createdAt);
    sayAge(age);
  };
  return { node, update };
});

/** Show the operations of a view. */
export function showOperations({ states, listed }) {
  show(listed.rows);
  showOr(byId("operations-rows"), byId("operations-empty"), listed.rows.length > 0);
  sayMore(byId("operations-more"), listed.more, "operations");
  const done = states.Succeeded ?? 0;
  say(byId("operations-done"), done ? `${done.toLocaleString("en")} succeeded recently` : "");
}
