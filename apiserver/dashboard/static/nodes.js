// Nodes, with a cell a GPU: who has it.

import { byId, element, keyed, mark, say, sayMore, showOr } from "./dom.js";
import { badge, bar, legend } from "./badges.js";
import { listing } from "./format.js";

const MOST_CELLS = 16;

byId("nodes-legend").append(...legend(["Active", "Stock", "Free", "OutOfService"]));

const show = keyed(byId("nodes-rows"), (node) => node.name, (first) => {
  const state = badge();
  const share = bar();
  const cells = element("span", { class: "cells", role: "img" });
  const fill = keyed(cells, ([index]) => index, () => {
    const cell = element("span");
    return { node: cell, update: ([, owner]) => mark(cell, "data-state", owner) };
  });
  const [product, text] = ["product", "text"].map((name) => element("span", { class: name }));
  const name = element("span", { class: "name" }, first.name);
  const node = element("li", {}, name, product, state.node, cells, share.node, text);
  const update = (seen) => {
    const parts = [["Active", seen.active ?? 0], ["Stock", seen.stock ?? 0], ["Free", seen.free ?? 0], ["OutOfService", seen.out ?? 0]];
    const label = `GPUs of ${seen.name}: ${words(parts)}`;
    const isSmall = parts.reduce((sum, [, number]) => sum + number, 0) <= MOST_CELLS;
    state.update(seen.state);
    state.node.hidden = seen.state === "Ready";
    cells.hidden = !isSmall;
    share.node.hidden = isSmall;
    mark(cells, "aria-label", label);
    if (isSmall) fill(parts.flatMap(([owner, number]) => Array(number).fill(owner)).map((owner, index) => [index, owner]));
    share.update(parts, label);
    say(product, seen.product ?? "");
    say(text, words(parts));
  };
  return { node, update };
});

/** Show the nodes of a view. */
export function showNodes({ listed }) {
  show(listed.rows);
  showOr(byId("nodes-rows"), byId("nodes-empty"), listed.rows.length > 0);
  sayMore(byId("nodes-more"), listed.more, "nodes");
}

function words(parts) {
  const [used, held, free, out] = parts.map(([, number]) => number);
  return listing([["in use", used], ["in stock", held], ["free", free], ["out of service", out]]);
}
