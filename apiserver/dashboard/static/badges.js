// States: their order, their badges and their bars. Every colour stands beside the name of its state.

import { element, keyedList, setAttribute, setText } from "./dom.js";
import { formatCounts, toWords } from "./format.js";

const ORDER = [
  ...["Ready", "Active", "Running", "Stock", "Claimed", "Scaling", "Progressing", "Pending"],
  ...["Idle", "ScaledToZero", "Cordoned", "Degraded", "Deleting", "Failed", "NotReady", "OutOfService"],
];

const rank = (state) => (ORDER.includes(state) ? ORDER.indexOf(state) : ORDER.length);

/** Return the entries of counts by state, in the order in which states are shown. */
export function sortStates(states) {
  return Object.entries(states).sort(([first], [second]) => rank(first) - rank(second));
}

/** Return a badge; `update` sets its state. */
export function badge() {
  const node = element("span", { class: "badge" });
  const update = (state) => {
    setAttribute(node, "data-state", state);
    setText(node, toWords(state));
  };
  return { node, update };
}

/** Return a bar of `[state, number]` parts, as long as their shares. */
export function bar() {
  const node = element("span", { class: "bar", role: "img" });
  const fill = keyedList(node, ([state]) => state, () => {
    const part = element("span");
    const update = ([state, number]) => {
      setAttribute(part, "data-state", state);
      part.style.flexGrow = number;
    };
    return { node: part, update };
  });
  const update = (parts, label = formatCounts(parts)) => {
    setAttribute(node, "aria-label", label);
    fill(parts.filter(([, number]) => number > 0));
  };
  return { node, update };
}

/** Return the legend of the colours of a section. */
export function legend(states) {
  return states.map((state) => element("span", { "data-state": state, class: "key" }, toWords(state)));
}
