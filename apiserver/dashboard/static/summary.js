// The tiles on top: one figure a section, each a link to it.

import { byId, element, keyed, say } from "./dom.js";
import { bar, inOrder } from "./badges.js";
import { count, listing, spaced } from "./format.js";

const show = keyed(byId("summary"), (tile) => tile.href, (first) => {
  const [title, figure, alarm, text] = ["title", "figure", "alarm", "calm"].map((name) => element("span", { class: name }));
  const share = bar();
  const words = element("span", { class: "text" }, alarm, text);
  const node = element("a", { href: first.href, class: "tile" }, title, figure, share.node, words);
  const update = (tile) => {
    say(title, tile.title);
    say(figure, tile.figure);
    say(alarm, tile.alarm);
    say(text, tile.text);
    share.update(tile.parts);
  };
  return { node, update };
});

/** Show what `view` comes to. */
export function showSummary(view) {
  show([gpus(view.nodes), stock(view.stock), units(view.units), operations(view.operations), functions(view.functions)]);
}

function gpus({ nodes, ready, active, stock: held, free, out }) {
  return {
    href: "#nodes",
    title: "GPUs in use",
    figure: `${active} / ${active + held + free + out}`,
    parts: [["Active", active], ["Stock", held], ["Free", free], ["OutOfService", out]],
    alarm: ready < nodes ? `${nodes - ready} of ${count(nodes, "node")} not ready` : "",
    text: `${held} in stock, ${free} free`,
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
    parts: [["Ready", ready], ...inOrder(others), ["Failed", failed]],
    alarm: failed ? `${failed} failed` : "",
    text: ready ? onTheWay(others) || `of ${count(specs.length, "spec")}` : "no unit can be created",
  };
}

function units({ states }) {
  const { Ready: ready = 0, Failed: failed = 0, ...others } = states;
  const total = Object.values(states).reduce((sum, number) => sum + number, 0);
  return {
    href: "#units",
    title: "Units ready",
    figure: ready.toLocaleString("en"),
    parts: [["Ready", ready], ...inOrder(others), ["Failed", failed]],
    alarm: failed ? `${failed} failed` : "",
    text: onTheWay(others) || (total ? `of ${count(total, "unit")}` : "no units"),
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
    text: all ? `${running} running on ${count(workers, "worker")}` : "no functions",
  };
}

function onTheWay(states) {
  const said = inOrder(states).map(([name, number]) => [spaced(name).toLowerCase(), number]);
  return said.length ? listing(said) : "";
}
