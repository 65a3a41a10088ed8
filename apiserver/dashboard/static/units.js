// Users' units, filtered by state and by search text.

import { byId, element, keyedList, setAttribute, setText, setMoreCount } from "./dom.js";
import { setAge } from "./connection_status.js";
import { badge, sortStates } from "./badges.js";
import { pluralize, toWords } from "./format.js";

const ALL = "";
const table = document.querySelector("table.units");
const search = byId("units-search");
let view = { states: {}, listed: { rows: [], more: 0 } };
let selectedState = ALL;

const showChips = keyedList(byId("units-states"), ([state]) => state, ([state]) => {
  const number = element("span", { class: "count" });
  const node = element("button", { type: "button" }, state === ALL ? "All" : toWords(state), " ", number);
  node.addEventListener("click", () => {
    selectedState = state;
    render();
  });
  const update = ([, total]) => {
    setAttribute(node, "aria-pressed", String(selectedState === state));
    setAttribute(node, "data-state", state);
    setText(number, total.toLocaleString("en"));
  };
  return { node, update };
});

const showRows = keyedList(byId("units-rows"), (unit) => unit.name, (first) => {
  const state = badge();
  const [reason, message] = ["reason", "message"].map((name) => element("span", { class: name }));
  const cell = (name, ...children) => element("td", { role: "cell", class: name }, ...children);
  const name = element("th", { role: "rowheader", scope: "row", class: "name" }, first.name);
  const [spec, node] = [cell("spec"), cell("node")];
  const age = element("time", { datetime: first.createdAt ?? "" });
  const row = element("tr", { role: "row" }, name, cell("state", state.node, reason, message), spec, node, cell("age", age));
  const update = (unit) => {
    const isReady = unit.state === "Ready";
    state.update(unit.state);
    setText(reason, isReady ? "" : toWords(unit.reason ?? ""));
    setText(message, isReady ? "" : unit.message ?? "");
    setText(spec, unit.gpu ? `${unit.specName} · ${pluralize(unit.gpu, "GPU")}` : unit.specName);
    setText(node, unit.node ?? "—");
    setAttribute(age, "datetime", unit.createdAt ?? "");
    setAge(age);
  };
  return { node: row, update };
});

/** Show the units of a view. */
export function showUnits(newView) {
  view = newView;
  render();
}

function render() {
  const { states, listed } = view;
  const total = Object.values(states).reduce((sum, number) => sum + number, 0);
  if (!(selectedState in states)) selectedState = ALL;
  const matches = listed.rows.filter(isSelected);
  showChips(total ? [[ALL, total], ...sortStates(states)] : []);
  showRows(matches);
  table.hidden = matches.length === 0;
  search.parentElement.hidden = total === 0;
  byId("units-empty").hidden = total > 0;
  byId("units-unmatched").hidden = total === 0 || matches.length > 0;
  setMoreCount(byId("units-more"), listed.more, "units; GET /api/v1/gpu-units lists all");
}

function isSelected(unit) {
  if (selectedState !== ALL && unit.state !== selectedState) return false;
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
