// States: their order, their badges and their bars. Colour never says anything that no word says.

import { element, keyed, mark, say } from "./dom.js";
import { listing, spaced } from "./format.js";

const ORDER = [
  ...["Ready", "Active", "Running", "Stock", "Claimed", "Scaling", "Progressing", "Pending"],
  ...["Idle", "ScaledToZero", "Cordoned", "Degraded", "Deleting", "Failed", "NotReady", "OutOfService"],
];

const place = (state) => (ORDER.includes(state) ? ORDER.indexOf(state) : ORDER.length);

/** The states of a count by state, in the order in which they are always shown. */
export function inOrder(states) {
  return Object.entries(states).sort(([one], [other]) => place(one) - place(other));
}

/** A badge that is told its state again and again. */
export function badge() {
  const node = element("span", { class: "badge" });
  const update = (state) => {
    mark(node, "data-state", state);
    say(node, spaced(state));
  };
  return { node, update };
}

/** A bar of `[state, number]` parts, as long as their shares. */
export function bar() {
  const node = element("span", { class: "bar", role: "img" });
  const fill = keyed(node, ([state]) => state, () => {
    const part = element("span");
    const update = ([state, number]) => {
      mark(part, "data-state", state);
      part.style.flexGrow = number;
    };
    return { node: part, update };
  });
  const update = (parts, label = listing(parts)) => {
    mark(node, "aria-label", label);
    fill(parts.filter(([, number]) => number > 0));
  };
  return { node, update };
}

/** What the colours of a section mean. */
export function legend(states) {
  return states.map((state) => element("span", { "data-state": state, class: "key" }, spaced(state)));
}
