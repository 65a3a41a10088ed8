// Stock by spec and state, and the pools that keep it.

import { byId, element, keyed, say, sayMore, showOr } from "./dom.js";
import { badge, bar, inOrder, legend } from "./badges.js";
import { count, listing, spaced } from "./format.js";

byId("stock-legend").append(...legend(["Ready", "Claimed", "Progressing", "Failed"]));

const showSpecs = keyed(byId("stock-specs"), (spec) => spec.specName, (first) => {
  const share = bar();
  const [size, ready, text] = ["size", "figure", "text"].map((name) => element("span", { class: name }));
  const name = element("span", { class: "name" }, first.specName);
  const node = element("li", {}, name, size, ready, share.node, text);
  const update = ({ gpu = 0, states }) => {
    const parts = inOrder(states);
    say(size, gpu ? `${count(gpu, "GPU")} each` : "no GPU");
    say(ready, `${states.Ready ?? 0} ready`);
    say(text, listing(parts.filter(([state]) => state !== "Ready").map(([state, n]) => [spaced(state).toLowerCase(), n])).replace(/^none$/, ""));
    share.update(parts, `Stock of ${first.specName}: ${listing(parts)}`);
  };
  return { node, update };
});

const showPools = keyed(byId("pools-rows"), (pool) => pool.name, (first) => {
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
    const isCalm = pool.state === "Ready" || pool.state === "ScaledToZero";
    state.update(pool.state);
    say(reason, isCalm ? "" : spaced(pool.reason ?? ""));
    say(message, isCalm ? "" : pool.message ?? "");
    say(available, `${pool.available ?? 0} of ${pool.wanted ?? 0}`);
    say(allocated, (pool.allocated ?? 0).toLocaleString("en"));
  };
  return { node, update };
});

/** Show the stock and the pools of a view. */
export function showStock(specs, pools) {
  showSpecs(specs);
  showOr(byId("stock-specs"), byId("stock-empty"), specs.length > 0);
  showPools(pools.rows);
  showOr(document.querySelector("table.pools"), byId("pools-empty"), pools.rows.length > 0);
  sayMore(byId("pools-more"), pools.more, "pools");
}
