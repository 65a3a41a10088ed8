// Running and failed operations.

import { byId, element, keyedList, setAttribute, setText, setMoreCount, showListOrHint } from "./dom.js";
import { setAge } from "./connection_status.js";
import { badge } from "./badges.js";
import { toWords } from "./format.js";

const show = keyedList(byId("operations-rows"), (operation) => operation.operationID, (first) => {
  const state = badge();
  const id = element("code", { class: "id" }, first.operationID);
  const title = element("span", { class: "name" }, toWords(first.type));
  const progress = element("progress", { "aria-label": `Progress of ${first.operationID}` });
  const [figure, message] = ["figure", "message"].map((name) => element("span", { class: name }));
  const age = element("time", { datetime: first.createdAt ?? "" });
  const node = element("li", {}, title, id, state.node, progress, figure, age, message);
  const update = ({ state: phase, created = 0, requested = 0, message: text = "", createdAt = "" }) => {
    state.update(phase);
    progress.max = Math.max(1, requested);
    progress.value = created;
    setAttribute(progress, "data-state", phase);
    setText(figure, `${created} of ${requested}`);
    setText(message, text);
    setAttribute(age, "datetime", createdAt);
    setAge(age);
  };
  return { node, update };
});

/** Show the operations of a view. */
export function showOperations({ states, listed }) {
  show(listed.rows);
  showListOrHint(byId("operations-rows"), byId("operations-empty"), listed.rows.length > 0);
  setMoreCount(byId("operations-more"), listed.more, "operations");
  const done = states.Succeeded ?? 0;
  setText(byId("operations-done"), done ? `${done.toLocaleString("en")} succeeded recently` : "");
}
