// SPDX-License-Identifier: BSD-3-Clause
// storage.jsx: file systems, and the storage targets of Lustre.
import { BarPanels, panelsRows, panelsSvg } from "../components/bars.jsx";
import { Figure } from "../components/figure.jsx";
import { useScheme } from "../components/hooks.js";
import { DataTable } from "../components/table.jsx";
import { count, plural, seconds } from "../data/format.js";

const MOUNTS = [
  { key: "path", title: "mounted at", unit: "text" },
  { key: "type", title: "type", unit: "text" },
  { key: "files", title: "files", unit: "count" },
  { key: "bytes_read", title: "read", unit: "bytes" },
  { key: "bytes_written", title: "written", unit: "bytes" },
  { key: "time", title: "time", unit: "s" },
];

const OSTS = [
  { key: "ost", title: "target", unit: "count" },
  { key: "files", title: "files", unit: "count" },
  { key: "bytes", title: "bytes", unit: "bytes" },
  { key: "time", title: "time", unit: "s" },
  { key: "alone", title: "files on it alone", unit: "count" },
  { key: "mean", title: "their mean time", unit: "s" },
  { key: "slowest", title: "their longest", unit: "s" },
];

function Targets({ lustre }) {
  const { colours } = useScheme();
  const osts = lustre.osts;
  const many = [...osts].sort((a, b) => b.time - a.time).slice(0, 24);
  const mean = osts.reduce((sum, o) => sum + o.time, 0) / osts.length;
  const top = many[0];
  const row = (o, v) => ({ label: `target ${o.ost}`, bars: [[{ kind: "wait", value: v }]] });
  const panels = [
    { title: "time of files, shared out over their targets", format: seconds, rows: many.map((o) => row(o, o.time)) },
  ];
  if (osts.some((o) => o.alone > 0))
    panels.push({
      title: "mean time of files on one target alone",
      format: seconds,
      rows: many.map((o) => row(o, o.mean)),
    });
  const title =
    osts.length > 1 && top.time > 1.5 * mean
      ? `Storage target ${top.ost} takes ${(top.time / mean).toFixed(1)} times the mean of ${count(osts.length)} targets`
      : `${plural(osts.length, "storage target")} in use, evenly`;
  return (
    <>
      <Figure
        name="targets"
        title={title}
        rows={() => panelsRows(panels)}
        svg={() => panelsSvg(panels, colours, title)}
        caption={
          osts.length > many.length
            ? `The ${many.length} busiest of ${count(osts.length)} targets.`
            : "All targets that hold stripes of the job's files."
        }
      >
        <BarPanels panels={panels} />
      </Figure>
      <DataTable
        name="targets"
        label="storage targets"
        columns={OSTS}
        rows={osts}
        sortBy="time"
        text={(o) => `target ${o.ost}`}
        page={12}
      />
    </>
  );
}

export function Storage({ report }) {
  return (
    <section id="storage" aria-label="file systems">
      <h2>File systems</h2>
      <DataTable name="mounts" label="file systems" columns={MOUNTS} rows={report.mounts} sortBy="time" page={12} />
      {report.lustre && report.lustre.osts.length > 0 && <Targets lustre={report.lustre} />}
    </section>
  );
}
