// Functions that create and update elements. Text stays text: nothing here parses it as HTML.

/** Return the element with the id, which exists in the page. */
export const byId = (id) => document.getElementById(id);

/** Create an element; strings among the children become text. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Set a text only if it differs, so that selections and screen readers are not disturbed. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Set an attribute only if it differs. */
export function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/**
 * Return a function that updates the children of `parent` to a list. `create` returns
 * `{node, update}` for a new item. A listed key keeps its node, and so the focus.
 */
export function keyedList(parent, keyOf, create) {
  const known = new Map();
  return (items) => {
    const keys = new Set(items.map(keyOf));
    for (const [key, { node }] of known) {
      if (!keys.has(key)) {
        node.remove();
        known.delete(key);
      }
    }
    let next = parent.firstElementChild;
    for (const item of items) {
      const key = keyOf(item);
      if (!known.has(key)) known.set(key, create(item));
      const { node, update } = known.get(key);
      update(item);
      if (node === next) next = next.nextElementSibling;
      else parent.insertBefore(node, next);
    }
  };
}

/** Show the list or, if it is empty, the hint what to do. */
export function showListOrHint(list, hint, hasItems) {
  list.hidden = !hasItems;
  hint.hidden = hasItems;
}

/** Show how many items are not in the list, if any. */
export function setMoreCount(node, more, itemsName) {
  node.hidden = more === 0;
  setText(node, more === 0 ? "" : `and ${more.toLocaleString("en")} more ${itemsName}`);
}
