// SPDX-License-Identifier: BSD-3-Clause
// files.jsx: the files, those that differ in numbers only below one pattern.
import { useMemo, useState } from "preact/hooks";
import { useTime } from "../components/hooks.js";
import { Filter, More, Path, Row, settle, tableCsv, TableFrame, useOrder } from "../components/table.jsx";
import { csv, download } from "../data/export.js";
import { count, moment, plural } from "../data/format.js";
import { grouped, matches } from "../data/rows.js";

const PAGE = 40;
const time = (f) => (f.time !== undefined ? f.time : f.read_time + f.write_time + f.meta_time);

const COLUMNS = [
  { key: "name", title: "file", get: (f) => f.name, show: (f) => <Path name={f.name} /> },
  { key: "top", title: "through", show: (f) => f.top ?? "" },
  { key: "ranks", title: "ranks", unit: "count" },
  { key: "time", title: "time", unit: "s", get: time, doc: "read, write and metadata time, added over ranks" },
  { key: "bytes_read", title: "read", unit: "bytes" },
  { key: "bytes_written", title: "written", unit: "bytes" },
  { key: "reads", title: "reads", unit: "count" },
  { key: "writes", title: "writes", unit: "count" },
  { key: "metas", title: "metadata", unit: "count", doc: "opens, stats, seeks, syncs and the like" },
  { key: "stripe_count", title: "stripes", unit: "count", doc: "Lustre stripe count" },
];

function asRow(entry) {
  const { group, rows } = entry;
  if (!group || group.files < 2) return { ...rows[0], files: 1 };
  const ranks = rows.length === group.files ? Math.max(...rows.map((r) => r.ranks)) : null;
  const tops = new Set(rows.map((r) => r.top));
  return {
    ...group,
    name: group.pattern,
    metas: group.metas ?? null,
    ranks,
    top: tops.size === 1 ? rows[0].top : "several",
    stripe_count: null,
  };
}

function Layers({ file }) {
  const names = Object.keys(file.layers || {});
  if (names.length < 2) return null;
  return <span class="dim"> {names.join(" → ")}</span>;
}

export function Files({ report }) {
  const { files } = report;
  const clock = useTime();
  const [filter, setFilter] = useState("");
  const [groups, setGroups] = useState(files.groups.some((g) => g.files > 1));
  const [open, setOpen] = useState(new Set());
  const [all, setAll] = useState(false);
  const active = (f) =>
    !clock.zoomed || (f.end > f.start ? f.start <= clock.window[1] && f.end >= clock.window[0] : false);
  const keep = (f) => active(f) && (!filter || matches(f.name, filter));
  const used = COLUMNS.filter((c) => c.key !== "stripe_count" || files.rows.some((f) => f.stripe_count));
  const columns = useMemo(() => settle(used, [...files.rows, ...files.groups]), [files]);
  const { order, onSort, sort } = useOrder(columns, "time");
  const entries = groups
    ? sort(
        grouped(files, keep).map((e) => ({ ...e, row: asRow(e) })),
        (e) => columns.find((c) => c.key === order.key).get(e.row),
      )
    : sort(files.rows.filter(keep)).map((row) => ({ row: { ...row, files: 1 }, rows: [row], group: null }));
  const shown = all ? entries : entries.slice(0, PAGE);
  const toggle = (index) =>
    setOpen((was) => {
      const now = new Set(was);
      if (!now.delete(index)) now.add(index);
      return now;
    });
  const fold = (e) => {
    const isOpen = open.has(e.index);
    return (
      <button
        type="button"
        class="fold-button"
        aria-expanded={isOpen ? "true" : "false"}
        onClick={() => toggle(e.index)}
        aria-label={`${e.row.name}: ${plural(e.row.files, "file")}`}
      >
        {isOpen ? "▾" : "▸"} <span class="chip">{count(e.row.files)} files</span>
      </button>
    );
  };
  const matching = files.rows.filter(keep).length;
  return (
    <section id="files" aria-label="files">
      <h2>Files</h2>
      <div class="data-table" id="table-files">
        <div class="table-tools">
          <Filter label="filter files" value={filter} onChange={setFilter} />
          <label>
            <input type="checkbox" checked={groups} onChange={(e) => setGroups(e.currentTarget.checked)} /> group by
            pattern
          </label>
          <span class="dim" role="status">
            {filter || clock.zoomed ? `${count(matching)} of ${count(files.rows.length)} files` : ""}
            {clock.zoomed
              ? ` in use between ${moment(clock.window[0], clock.window[1] - clock.window[0])} and ${moment(clock.window[1], clock.window[1] - clock.window[0])}`
              : ""}
          </span>
          <button
            type="button"
            class="small"
            aria-label="files: save as CSV"
            onClick={() => download("files.csv", "text/csv", csv(tableCsv(columns, sort(files.rows.filter(keep)))))}
          >
            CSV
          </button>
        </div>
        <TableFrame label="files" columns={columns} order={order} onSort={onSort}>
          {shown.map((e) => [
            <Row
              key={e.index ?? e.row.id}
              row={e.row}
              columns={columns}
              cls={e.row.files > 1 ? "group" : ""}
              extra={e.row.files > 1 ? fold(e) : null}
            />,
            ...(e.row.files > 1 && open.has(e.index)
              ? sort(e.rows).map((f) => <Row key={f.id} row={f} columns={columns} cls="member" />)
              : []),
          ])}
        </TableFrame>
        <More total={entries.length} shown={shown.length} onMore={() => setAll(true)} />
        {files.shown < files.total && (
          <p class="dim">
            The page holds the {count(files.shown)} of {count(files.total)} files that took most{" "}
            {files.order === "time" ? "time" : files.order}; patterns count all of theirs.
          </p>
        )}
      </div>
    </section>
  );
}
