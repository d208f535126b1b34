// SPDX-License-Identifier: BSD-3-Clause
// rows.js: sorting, filtering and grouping of table rows. Pure.

export function compare(a, b) {
  const none = (v) => v === null || v === undefined || v === "";
  if (none(a) || none(b)) return none(a) === none(b) ? 0 : none(a) ? 1 : -1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

// Rows in order of a column; what is unknown comes last either way.
export function sorted(rows, get, descending) {
  const none = (v) => v === null || v === undefined || v === "";
  return [...rows].sort((x, y) => {
    const [a, b] = [get(x), get(y)];
    if (none(a) || none(b)) return compare(a, b);
    return descending ? -compare(a, b) : compare(a, b);
  });
}

// Every word of the filter must occur, in any order, whatever the letter case.
export function matches(text, filter) {
  const low = text.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => low.includes(word));
}

// Files below the pattern they share. A group is shown as such when it has more than one file.
export function grouped(files, keep) {
  const inGroup = new Map();
  for (const row of files.rows.filter(keep)) {
    const list = inGroup.get(row.group) || [];
    list.push(row);
    inGroup.set(row.group, list);
  }
  return [...inGroup].map(([index, rows]) => ({ group: files.groups[index] || null, index, rows }));
}
