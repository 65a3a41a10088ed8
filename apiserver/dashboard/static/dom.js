// Building and updating the page. Text only ever becomes text: nothing here can make HTML of it.

/** The element with that id, which the page is known to have. */
export const byId = (id) => document.getElementById(id);

/** A new element; strings among the children become text. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Change a text only where it differs, so that selections and screen readers are left alone. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Set an attribute only where it differs. */
export function mark(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/**
 * Keeps the children of `parent` in step with a list. `create` makes `{node, update}` for an item
 * that is new; a node stays the same for as long as its key is listed, and so does the focus.
 */
export function keyed(parent, keyOf, create) {
  const known = new Map();
  return (items) => {
    const wanted = new Set(items.map(keyOf));
    for (const [key, { node }] of known) {
      if (!wanted.has(key)) {
        node.remove();
        known.delete(key);
      }
    }
    let place = parent.firstElementChild;
    for (const item of items) {
      const key = keyOf(item);
      if (!known.has(key)) known.set(key, create(item));
      const { node, update } = known.get(key);
      update(item);
      if (node === place) place = place.nextElementSibling;
      else parent.insertBefore(node, place);
    }
  };
}

/** Show the list or, where it is empty, the words that say what to do. */
export function showOr(list, empty, isThere) {
  list.hidden = !isThere;
  empty.hidden = isThere;
}

/** Say how many are left out of a list, if any are. */
export function sayMore(node, more, what) {
  node.hidden = more === 0;
  say(node, more === 0 ? "" : `and ${more.toLocaleString("en")} more ${what}`);
}
