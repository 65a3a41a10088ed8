// Numbers and names as text.

const UNITS = [
  [86400, "d"],
  [3600, "h"],
  [60, "min"],
];

/** Format seconds as one rounded number with its unit, such as `4 min`. */
export function formatDuration(seconds) {
  for (const [size, unit] of UNITS) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${Math.max(0, Math.floor(seconds))} s`;
}

/** Format a number with its noun: `1 GPU`, `2 GPUs`. */
export function pluralize(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** Format `SeedStockUnits` as `Seed stock units`; abbreviations in capitals stay. */
export function toWords(name) {
  const parts = name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+/g) ?? [name];
  const lowered = parts.map((part) => (/^[A-Z]{2}/.test(part) ? part : part.toLowerCase()));
  const text = lowered.join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Format `[name, number]` parts as `3 Ready, 1 Claimed`, without the parts that are zero. */
export function formatCounts(parts) {
  const counts = parts.filter(([, number]) => number > 0).map(([name, number]) => `${number} ${name}`);
  return counts.join(", ") || "none";
}
