// The tiles at the top: one for each section, with its most important number and a link.

import { byId, element, keyedList, setText } from "./dom.js";
import { bar, sortStates } from "./badges.js";
import { pluralize, formatCounts, toWords } from "./format.js";

const show = keyedList(byId("summary"), (tile) => tile.href, (first) => {
  const [title, figure, alarm, text] = ["title", "figure", "alarm", "calm"].map((name) => element("span", { class: name }));
  const share = bar();
  const words = element("span", { class: "text" }, alarm, text);
  const node = element("a", { href: first.href, class: "tile" }, title, figure, share.node, words);
  const update = (tile) => {
    setText(title, tile.title);
    setText(figure, tile.figure);
    setText(alarm, tile.alarm);
    setText(text, tile.text);
    share.update(tile.parts);
  };
  return { node, update };
});

/** Show the summary of a view. */
export function showSummary(view) {
  show([gpus(view.nodes), stock(view.stock), units(view.units), operations(view.operations), functions(view.functions)]);
}

function gpus({ nodes, ready, active, stock: inStock, free, out }) {
  return {
    href: "#nodes",
    title: "GPUs in use",
    figure: `${active} / ${active + inStock + free + out}`,
    parts: [["Active", active], ["Stock", inStock], ["Free", free], ["OutOfService", out]],
    alarm: ready < nodes ? `${nodes - ready} of ${pluralize(nodes, "node")} not ready` : "",
    text: `${inStock} in stock, ${free} free`,
  };
}

function stock(specs) {
  const sum = {};
  for (const { states } of specs) {
    for (const [state, number] of Object.entries(states)) sum[state] = (sum[state] ?? 0) + number;
  }
  const { Ready: ready = 0, Failed: failed = 0, ...others } = sum;
  return {
    href: "#stock",
    title: "Stock ready",
    figure: ready.toLocaleString("en"),
    parts: [["Ready", ready], ...sortStates(others), ["Failed", failed]],
    alarm: failed ? `${failed} failed` : "",
    text: ready ? formatStates(others) || `of ${pluralize(specs.length, "spec")}` : "no unit can be created",
  };
}

function units({ states }) {
  const { Ready: ready = 0, Failed: failed = 0, ...others } = states;
  const total = Object.values(states).reduce((sum, number) => sum + number, 0);
  return {
    href: "#units",
    title: "Units ready",
    figure: ready.toLocaleString("en"),
    parts: [["Ready", ready], ...sortStates(others), ["Failed", failed]],
    alarm: failed ? `${failed} failed` : "",
    text: formatStates(others) || (total ? `of ${pluralize(total, "unit")}` : "no units"),
  };
}

function operations({ states }) {
  const { Running: running = 0, Pending: pending = 0, Failed: failed = 0, Succeeded: done = 0 } = states;
  return {
    href: "#operations",
    title: "Open operations",
    figure: (running + pending).toLocaleString("en"),
    parts: [["Running", running], ["Pending", pending], ["Failed", failed]],
    alarm: failed ? `${failed} failed` : "",
    text: `${done.toLocaleString("en")} succeeded recently`,
  };
}

function functions({ functions: all, workers, queued, running }) {
  return {
    href: "#functions",
    title: "Invocations queued",
    figure: queued.toLocaleString("en"),
    parts: [["Running", running], ["Pending", queued]],
    alarm: "",
    text: all ? `${running} running on ${pluralize(workers, "worker")}` : "no functions",
  };
}

function formatStates(states) {
  const counts = sortStates(states).map(([name, number]) => [toWords(name).toLowerCase(), number]);
  return counts.length ? formatCounts(counts) : "";
}
