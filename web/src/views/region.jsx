// SPDX-License-Identifier: BSD-3-Clause
// region.jsx: statistics of the operations in the window that is shown: the answer to "what happened there?"
import { useMemo } from "preact/hooks";
import { useTime } from "../components/hooks.js";
import { DataTable, Path } from "../components/table.jsx";
import { count, moment, who } from "../data/format.js";
import { begunIn, regionGroups, regionKinds } from "../data/region.js";

const took = (key, title, doc) => ({ key, title, unit: "s", doc });
const KINDS = [
  { key: "layer", title: "layer" },
  { key: "kind", title: "operation" },
  { key: "operations", title: "operations", unit: "count" },
  { key: "bytes", title: "moved", unit: "bytes" },
  { key: "rate", title: "per second", unit: "bytes", doc: "bytes by the length of the window" },
  took("p50", "median", "half of them took no longer"),
  took("p95", "95 %", "of them took no longer"),
  took("p99", "99 %", "of them took no longer"),
  took("longest", "longest"),
];
const SUMS = [
  { key: "operations", title: "operations", unit: "count" },
  { key: "bytes_read", title: "read", unit: "bytes" },
  { key: "bytes_written", title: "written", unit: "bytes" },
  { key: "time", title: "time", unit: "s", doc: "inside the window, all operations together" },
  took("longest", "longest"),
];
const RANKS = [{ key: "key", title: "rank", unit: "count" }, ...SUMS];
const FILES = [{ key: "key", title: "file", show: (r) => <Path name={r.key} /> }, ...SUMS];

export function Region({ trace, logs }) {
  const { window, zoomed } = useTime();
  const { ops, names } = trace;
  const list = useMemo(() => begunIn(ops, window), [ops, window]);
  const kinds = useMemo(() => regionKinds(ops, list, window), [ops, list, window]);
  const groups = useMemo(() => regionGroups(ops, list, window, names), [ops, list, window, names]);
  const span = window[1] - window[0];
  return (
    <section class="region" id="region" aria-label="statistics of the window">
      <h3 role="status">
        {zoomed
          ? `${count(list.length)} operations begin between ${moment(window[0], span)} and ${moment(window[1], span)}`
          : `${count(list.length)} operations in all that is shown`}
      </h3>
      <p class="dim">
        {zoomed ? "" : "Drag over the picture, or press +, to select a part of it: figures follow. "}
        {trace.ops_all ? "" : "These are the longest operations only, so that medians are too high. "}
        {trace.ops_all && !trace.window ? null : (
          <>
            {trace.ops_all ? "Another part" : "All operations of this part"}:{" "}
            <code>
              iorama report --html --window {window[0].toFixed(6)}:{window[1].toFixed(6)} {logs.join(" ")}
            </code>
          </>
        )}
      </p>
      {list.length > 0 && (
        <>
          <DataTable name="region" label="operations by kind" columns={KINDS} rows={kinds} sortBy="operations" />
          <div class="columns">
            <DataTable
              name="region-ranks"
              label={who("ranks of the window")}
              columns={RANKS}
              rows={groups.ranks}
              sortBy="time"
              page={8}
            />
            <DataTable
              name="region-files"
              label="files of the window"
              columns={FILES}
              rows={groups.files}
              sortBy="time"
              page={8}
            />
          </div>
        </>
      )}
    </section>
  );
}
