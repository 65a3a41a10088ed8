// Nodes, with one cell for each GPU that shows its use.

import { byId, element, keyedList, setAttribute, setText, setMoreCount, showListOrHint } from "./dom.js";
import { badge, bar, legend } from "./badges.js";
import { formatCounts } from "./format.js";

const MAX_CELLS = 16;

byId("nodes-legend").append(...legend(["Active", "Stock", "Free", "OutOfService"]));

const show = keyedList(byId("nodes-rows"), (node) => node.name, (first) => {
  const state = badge();
  const share = bar();
  const cells = element("span", { class: "cells", role: "img" });
  const fill = keyedList(cells, ([index]) => index, () => {
    const cell = element("span");
    return { node: cell, update: ([, use]) => setAttribute(cell, "data-state", use) };
  });
  const [product, text] = ["product", "text"].map((name) => element("span", { class: name }));
  const name = element("span", { class: "name" }, first.name);
  const node = element("li", {}, name, product, state.node, cells, share.node, text);
  const update = (row) => {
    const parts = [["Active", row.active ?? 0], ["Stock", row.stock ?? 0], ["Free", row.free ?? 0], ["OutOfService", row.out ?? 0]];
    const label = `GPUs of ${row.name}: ${formatUse(parts)}`;
    const isSmall = parts.reduce((sum, [, number]) => sum + number, 0) <= MAX_CELLS;
    state.update(row.state);
    state.node.hidden = row.state === "Ready";
    cells.hidden = !isSmall;
    share.node.hidden = isSmall;
    setAttribute(cells, "aria-label", label);
    if (isSmall) fill(parts.flatMap(([use, number]) => Array(number).fill(use)).map((use, index) => [index, use]));
    share.update(parts, label);
    setText(product, row.product ?? "");
    setText(text, formatUse(parts));
  };
  return { node, update };
});

/** Show the nodes of a view. */
export function showNodes({ listed }) {
  show(listed.rows);
  showListOrHint(byId("nodes-rows"), byId("nodes-empty"), listed.rows.length > 0);
  setMoreCount(byId("nodes-more"), listed.more, "nodes");
}

function formatUse(parts) {
  const [used, stock, free, out] = parts.map(([, number]) => number);
  return formatCounts([["in use", used], ["in stock", stock], ["free", free], ["out of service", out]]);
}
