// SPDX-License-Identifier: BSD-3-Clause
// table.jsx: tables that can be sorted, filtered and saved. A column is
//   { key, title, get(row), show(row) or unit, numeric, text }
// unit: "bytes" (header gets the unit that fits the largest value), "s", "count", "text".
import { useMemo, useState } from "preact/hooks";
import { byteUnit, cell, count, short, who } from "../data/format.js";
import { csv, download } from "../data/export.js";
import { sorted } from "../data/rows.js";

const PAGE = 50;

// Full path for copying and hovering; what does not fit is cut in the middle, the end of the path always shows.
export function Path({ name }) {
  const cut = name.lastIndexOf("/", name.length - 2) + 1;
  if (cut === 0 || name.length < 24)
    return (
      <span class="path" title={name}>
        <span class="path-tail">{name}</span>
      </span>
    );
  return (
    <span class="path" title={name}>
      <span class="path-head">{name.slice(0, cut)}</span>
      <span class="path-tail">{name.slice(cut)}</span>
    </span>
  );
}

// Columns with their headers and printers settled for these rows.
export function settle(columns, rows) {
  return columns.map((column) => {
    const get = column.get || ((row) => row[column.key]);
    column = { ...column, title: who(column.title), doc: column.doc && who(column.doc) };
    if (column.unit === "bytes") {
      const most = rows.reduce((m, row) => Math.max(m, get(row) || 0), 0);
      const unit = byteUnit(most);
      const print = (row) => cell(get(row) === null ? null : get(row) / unit.size, unit.size === 1 ? 0 : 1);
      return { ...column, get, numeric: true, header: `${column.title}, ${unit.name}`, print };
    }
    if (column.unit === "s") {
      const most = rows.reduce((m, row) => Math.max(m, get(row) || 0), 0);
      const decimals = most >= 100 ? 1 : most >= 1 ? 2 : 4;
      return { ...column, get, numeric: true, header: `${column.title}, s`, print: (row) => cell(get(row), decimals) };
    }
    if (column.unit === "count")
      return {
        ...column,
        get,
        numeric: true,
        header: column.title,
        print: (row) => (get(row) === null || get(row) === undefined ? "" : short(get(row))),
      };
    return { ...column, get, header: column.title, print: column.show || ((row) => get(row) ?? "") };
  });
}

function Head({ column, order, onSort }) {
  const state = order.key !== column.key ? "none" : order.descending ? "descending" : "ascending";
  return (
    <th scope="col" class={column.numeric ? "number" : ""} aria-sort={state}>
      <button type="button" class="sort" onClick={() => onSort(column)} title={column.doc}>
        {column.header}
        <span class="arrow" aria-hidden="true">
          {{ none: "", ascending: "▲", descending: "▼" }[state]}
        </span>
      </button>
    </th>
  );
}

export function Row({ row, columns, extra, cls }) {
  return (
    <tr class={cls}>
      {columns.map((column, i) => (
        <td
          key={column.key}
          class={column.numeric ? "number" : ""}
          title={column.unit === "bytes" && column.get(row) !== null ? `${count(column.get(row))} bytes` : undefined}
        >
          {i === 0 && extra}
          {column.print(row)}
        </td>
      ))}
    </tr>
  );
}

export function useOrder(columns, key, descending = true) {
  const [order, setOrder] = useState({ key, descending });
  const onSort = (column) =>
    setOrder((was) => ({
      key: column.key,
      descending: was.key === column.key ? !was.descending : Boolean(column.numeric || column.unit),
    }));
  const column = columns.find((c) => c.key === order.key) || columns[0];
  return { order, onSort, sort: (rows, get = column.get) => sorted(rows, get, order.descending) };
}

export function TableFrame({ label, columns, order, onSort, children }) {
  return (
    <div class="table-room" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((c) => (
              <Head key={c.key} column={c} order={order} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function Filter({ label, value, onChange }) {
  return (
    <input
      type="search"
      class="filter"
      placeholder="filter"
      aria-label={label}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

export function More({ total, shown, onMore }) {
  if (shown >= total) return null;
  return (
    <p class="more">
      {count(shown)} of {count(total)} rows{" "}
      <button type="button" class="small screen" onClick={onMore}>
        show all
      </button>
    </p>
  );
}

export function tableCsv(columns, rows) {
  return [columns.map((c) => c.key), ...rows.map((row) => columns.map((c) => c.get(row)))];
}

// A plain table: sort, filter over `text(row)`, fifty rows until asked for more.
export function DataTable({ name, label, columns: wanted, rows, sortBy, descending = true, text, page = PAGE }) {
  const columns = useMemo(() => settle(wanted, rows), [wanted, rows]);
  const { order, onSort, sort } = useOrder(columns, sortBy, descending);
  const [filter, setFilter] = useState("");
  const [all, setAll] = useState(false);
  const kept =
    filter && text
      ? rows.filter((row) =>
          filter
            .toLowerCase()
            .split(/\s+/)
            .every((word) => text(row).toLowerCase().includes(word)),
        )
      : rows;
  const list = sort(kept);
  const shown = all ? list : list.slice(0, page);
  return (
    <div class="data-table" id={`table-${name}`}>
      <div class="table-tools">
        {text && <Filter label={`filter ${label}`} value={filter} onChange={setFilter} />}
        <span class="dim" role="status">
          {filter ? `${count(list.length)} of ${count(rows.length)}` : ""}
        </span>
        <button
          type="button"
          class="small"
          aria-label={`${name}: save as CSV`}
          onClick={() => download(`${name}.csv`, "text/csv", csv(tableCsv(columns, list)))}
        >
          CSV
        </button>
      </div>
      <TableFrame label={label} columns={columns} order={order} onSort={onSort}>
        {shown.map((row, i) => (
          <Row key={row.key ?? i} row={row} columns={columns} cls={row.cls} />
        ))}
      </TableFrame>
      <More total={list.length} shown={shown.length} onMore={() => setAll(true)} />
    </div>
  );
}
