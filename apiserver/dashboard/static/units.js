// Users' units, with the state and the words that are looked for.

import { byId, element, keyed, mark, say, sayMore } from "./dom.js";
import { sayAge } from "./connection_status.js";
import { badge, inOrder } from "./badges.js";
import { count, spaced } from "./format.js";

const ALL = "";
const table = document.querySelector("table.units");
const search = byId("units-search");
let shown = { states: {}, listed: { rows: [], more: 0 } };
let wanted = ALL;

const showChips = keyed(byId("units-states"), ([state]) => state, ([state]) => {
  const number = element("span", { class: "count" });
  const node = element("button", { type: "button" }, state === ALL ? "All" : spaced(state), " ", number);
  node.addEventListener("click", () => {
    wanted = state;
    render();
  });
  const update = ([, total]) => {
    mark(node, "aria-pressed", String(wanted === state));
    mark(node, "data-state", state);
    say(number, total.toLocaleString("en"));
  };
  return { node, update };
});

const showRows = keyed(byId("units-rows"), (unit) => unit.name, (first) => {
  const state = badge();
  const [reason, message] = ["reason", "message"].map((name) => element("span", { class: name }));
  const cell = (name, ...children) => element("td", { role: "cell", class: name }, ...children);
  const name = element("th", { role: "rowheader", scope: "row", class: "name" }, first.name);
  const [spec, node] = [cell("spec"), cell("node")];
  const age = element("time", { datetime: first.createdAt ?? "" });
  const row = element("tr", { role: "row" }, name, cell("state", state.node, reason, message), spec, node, cell("age", age));
  const update = (unit) => {
    const isCalm = unit.state === "Ready";
    state.update(unit.state);
    say(reason, isCalm ? "" : spaced(unit.reason ?? ""));
    say(message, isCalm ? "" : unit.message ?? "");
    say(spec, unit.gpu ? `${unit.specName} · ${count(unit.gpu, "GPU")}` : unit.specName);
    say(node, unit.node ?? "—");
    mark(age, "datetime", unit.createdAt ?? "");
    sayAge(age);
  };
  return { node: row, update };
});

/** Show the units of a view. */
export function showUnits(view) {
  shown = view;
  render();
}

function render() {
  const { states, listed } = shown;
  const total = Object.values(states).reduce((sum, number) => sum + number, 0);
  if (!(wanted in states)) wanted = ALL;
  const found = listed.rows.filter(isWanted);
  showChips(total ? [[ALL, total], ...inOrder(states)] : []);
  showRows(found);
  table.hidden = found.length === 0;
  search.parentElement.hidden = total === 0;
  byId("units-empty").hidden = total > 0;
  byId("units-unmatched").hidden = total === 0 || found.length > 0;
  sayMore(byId("units-more"), listed.more, "units; GET /api/v1/gpu-units lists all");
}

function isWanted(unit) {
  if (wanted !== ALL && unit.state !== wanted) return false;
  const { name, specName, node = "", reason = "" } = unit;
  return `${name} ${specName} ${node} ${reason}`.toLowerCase().includes(search.value.trim().toLowerCase());
}

search.addEventListener("input", render);
search.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  search.value = "";
  render();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  search.focus();
});
