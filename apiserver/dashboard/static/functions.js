// Functions, their workers and their queues.

import { byId, element, keyedList, setText, setMoreCount, showListOrHint } from "./dom.js";
import { badge } from "./badges.js";
import { toWords } from "./format.js";

const show = keyedList(byId("functions-rows"), (row) => row.name, (first) => {
  const state = badge();
  const cell = (name, ...children) => element("td", { role: "cell", class: name }, ...children);
  const [reason, message] = ["reason", "message"].map((name) => element("span", { class: name }));
  const [workers, queued, running] = ["workers", "queued", "running"].map((label) => {
    const numberCell = cell("number");
    numberCell.dataset.label = label;
    return numberCell;
  });
  const name = element("th", { role: "rowheader", scope: "row", class: "name" }, first.name);
  const node = element("tr", { role: "row" }, name, cell("state", state.node, reason, message), cell("spec", first.specName), workers, queued, running);
  const update = (row) => {
    const hasProblem = row.state === "Failed" || row.state === "Degraded";
    state.update(row.state);
    setText(reason, hasProblem ? toWords(row.reason ?? "") : "");
    setText(message, hasProblem ? row.message ?? "" : "");
    setText(workers, `${row.ready ?? 0} of ${row.wanted ?? 0}`);
    workers.title = `at most ${row.most ?? 0}`;
    setText(queued, (row.queued ?? 0).toLocaleString("en"));
    setText(running, (row.running ?? 0).toLocaleString("en"));
  };
  return { node, update };
});

/** Show the functions of a view. */
export function showFunctions({ listed }) {
  show(listed.rows);
  showListOrHint(document.querySelector("table.functions"), byId("functions-empty"), listed.rows.length > 0);
  setMoreCount(byId("functions-more"), listed.more, "functions");
}
