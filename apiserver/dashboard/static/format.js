// Figures and names as people say them.

const UNITS = [
  [86400, "d"],
  [3600, "h"],
  [60, "min"],
];

/** A number of seconds as one rounded figure, such as `4 min`. */
export function span(seconds) {
  for (const [size, unit] of UNITS) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${Math.max(0, Math.floor(seconds))} s`;
}

/** `1 GPU`, `2 GPUs`. */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** `SeedStockUnits` as `Seed stock units`; what is written in capitals stays. */
export function spaced(name) {
  const parts = name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+/g) ?? [name];
  const lowered = parts.map((part) => (/^[A-Z]{2}/.test(part) ? part : part.toLowerCase()));
  const text = lowered.join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `3 Ready, 1 Claimed`: the parts of a whole in words; what there is none of goes unsaid. */
export function listing(parts) {
  const said = parts.filter(([, number]) => number > 0).map(([name, number]) => `${number} ${name}`);
  return said.join(", ") || "none";
}
