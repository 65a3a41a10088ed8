// Stock by spec and state, and the pools that keep it.

import { byId, element, keyedList, setText, setMoreCount, showListOrHint } from "./dom.js";
import { badge, bar, sortStates, legend } from "./badges.js";
import { pluralize, formatCounts, toWords } from "./format.js";

byId("stock-legend").append(...legend(["Ready", "Claimed", "Progressing", "Failed"]));

const showSpecs = keyedList(byId("stock-specs"), (spec) => spec.specName, (first) => {
  const share = bar();
  const [size, ready, text] = ["size", "figure", "text"].map((name) => element("span", { class: name }));
  const name = element("span", { class: "name" }, first.specName);
  const node = element("li", {}, name, size, ready, share.node, text);
  const update = ({ gpu = 0, states }) => {
    const parts = sortStates(states);
    setText(size, gpu ? `${pluralize(gpu, "GPU")} each` : "no GPU");
    setText(ready, `${states.Ready ?? 0} ready`);
    setText(text, formatCounts(parts.filter(([state]) => state !== "Ready").map(([state, n]) => [toWords(state).toLowerCase(), n])).replace(/^none$/, ""));
    share.update(parts, `Stock of ${first.specName}: ${formatCounts(parts)}`);
  };
  return { node, update };
});

const showPools = keyedList(byId("pools-rows"), (pool) => pool.name, (first) => {
  const state = badge();
  const cell = (name, ...children) => element("td", { role: "cell", class: name }, ...children);
  const [reason, message] = ["reason", "message"].map((name) => element("span", { class: name }));
  const [available, allocated] = [cell("number"), cell("number")];
  available.dataset.label = "available";
  allocated.dataset.label = "allocated";
  const name = element("th", { role: "rowheader", scope: "row", class: "name" }, first.name);
  const spec = cell("spec", first.specName);
  const node = element("tr", { role: "row" }, name, cell("state", state.node, reason, message), spec, available, allocated);
  const update = (pool) => {
    const isHealthy = pool.state === "Ready" || pool.state === "ScaledToZero";
    state.update(pool.state);
    setText(reason, isHealthy ? "" : toWords(pool.reason ?? ""));
    setText(message, isHealthy ? "" : pool.message ?? "");
    setText(available, `${pool.available ?? 0} of ${pool.wanted ?? 0}`);
    setText(allocated, (pool.allocated ?? 0).toLocaleString("en"));
  };
  return { node, update };
});

/** Show the stock and the pools of a view. */
export function showStock(specs, pools) {
  showSpecs(specs);
  showListOrHint(byId("stock-specs"), byId("stock-empty"), specs.length > 0);
  showPools(pools.rows);
  showListOrHint(document.querySelector("table.pools"), byId("pools-empty"), pools.rows.length > 0);
  setMoreCount(byId("pools-more"), pools.more, "pools");
}
