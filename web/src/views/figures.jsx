// SPDX-License-Identifier: BSD-3-Clause
// figures.jsx: time per layer, request sizes, access pattern, operations: bars with their values.
import { BarPanels, panelsRows, panelsSvg, wantsLog } from "../components/bars.jsx";
import { Figure, Key } from "../components/figure.jsx";
import { useScheme } from "../components/hooks.js";
import { bytes, plural, seconds, share, short, who } from "../data/format.js";

const KEY = [
  ["read", "read"],
  ["write", "written"],
];

function BarFigure({ name, title, caption, panels, keys = KEY }) {
  const { colours } = useScheme();
  return (
    <Figure
      name={name}
      title={title}
      caption={caption}
      rows={() => panelsRows(panels)}
      svg={() => panelsSvg(panels, colours, title)}
    >
      <BarPanels panels={panels} />
      <Key items={keys} />
    </Figure>
  );
}

const timeParts = (t) => [
  { kind: "read", value: t.read },
  { kind: "write", value: t.write },
  { kind: "meta", value: t.meta },
];
const timeSum = (t) => t.read + t.write + t.meta;

export function Layers({ report }) {
  const layers = report.layers.filter((layer) => timeSum(layer.slowest) > 0);
  if (layers.length === 0)
    return <p class="dim">No layer spent any time: the log counts no calls, or does not tell how long they took.</p>;
  const panels = layers.map((layer) => ({
    title: layer.label || layer.name,
    format: seconds,
    rows: [
      { label: who("mean rank"), bars: [timeParts(layer.mean)] },
      { label: who("median rank"), bars: [timeParts(layer.median)] },
      {
        label:
          layer.slowest.rank !== null && layer.slowest.rank >= 0
            ? who(`slowest (rank ${layer.slowest.rank})`)
            : who("slowest rank"),
        bars: [timeParts(layer.slowest)],
      },
    ],
  }));
  const top = layers.reduce((a, b) => (timeSum(b.slowest) > timeSum(a.slowest) ? b : a));
  return (
    <BarFigure
      name="layers"
      panels={panels}
      keys={[...KEY, ["meta", "metadata"]]}
      title={`${who("The slowest rank")} spent ${seconds(timeSum(top.slowest))} in ${top.label || top.name}, ${who("the median rank")} ${seconds(timeSum(top.median))}`}
      caption={who(
        "Time of a rank inside calls of each layer, the layer nearest to the application first. Layers call each other: their times overlap and must not be added.",
      )}
    />
  );
}

function sizePanels(part) {
  const rows = (get) =>
    part.classes.map((label, i) => ({
      label,
      bars: [[{ kind: "read", value: get(part.read, i) }], [{ kind: "write", value: get(part.write, i) }]],
    }));
  const panel = (title, format, field) => {
    if (!part.read[field] || !part.write[field]) return null;
    const log = wantsLog([...part.read[field], ...part.write[field]]);
    return { title, format, log, rows: rows((kind, i) => kind[field][i]) };
  };
  return [
    panel("requests", short, "count"),
    panel(part.exact ? "bytes" : "bytes, estimated", bytes, "bytes"),
    panel("time", seconds, "time"),
  ].filter(Boolean);
}

function sizeTitle(part) {
  const both = part.classes.map((_, i) => part.read.count[i] + part.write.count[i]);
  const all = both.reduce((a, b) => a + b, 0);
  const i = both.indexOf(Math.max(...both));
  return all
    ? `${part.layer}: ${share(both[i] / all)} of ${plural(all, "request")} are of ${part.classes[i]}`
    : `${part.layer}: no requests`;
}

export function Sizes({ report }) {
  const used = report.sizes.filter((s) => [...s.read.count, ...s.write.count].some((n) => n > 0));
  if (used.length === 0) return <p class="dim">No read or write was recorded: there are no sizes to show.</p>;
  return used.map((part) => (
    <BarFigure
      key={part.layer}
      name={`sizes-${part.layer}`}
      title={sizeTitle(part)}
      panels={sizePanels(part)}
      caption={`Requests by size: how many, how much they moved${part.read.time ? " and how long they took" : ""}.${
        part.exact
          ? ""
          : " The log counts requests per class; bytes are estimated from the sizes it names most often and the bounds of the classes."
      }${part.read.time ? "" : " Time by size needs a trace."}`}
    />
  ));
}

const ORDER = [
  ["consecutive", "consecutive: right after the one before"],
  ["sequential", "sequential: further on, with a gap"],
  ["random", "elsewhere: back or first"],
];

function patternPanels(p) {
  const order = {
    title: "order of accesses",
    format: short,
    log: wantsLog(ORDER.flatMap(([k]) => [p.read[k], p.write[k]])),
    rows: ORDER.map(([k]) => ({
      label: k,
      bars: [[{ kind: "read", value: p.read[k] }], [{ kind: "write", value: p.write[k] }]],
    })),
  };
  const grey = (label, value) => ({ label, bars: [[{ kind: "wait", value }]] });
  const odd = [
    grey("switches read/write", p.switches),
    grey("unaligned in file", p.unaligned?.file),
    grey("unaligned memory", p.unaligned?.memory),
  ].filter((row) => row.bars[0][0].value !== null && row.bars[0][0].value !== undefined);
  const common = p.common || [];
  const panels = [order];
  if (odd.length) panels.push({ title: "accesses that cost extra", format: short, rows: odd });
  if (common.length)
    panels.push({ title: "most frequent sizes", format: short, rows: common.map((c) => grey(bytes(c.size), c.count)) });
  return panels;
}

function patternTitle(p) {
  const sum = (kind) => ORDER.reduce((n, [k]) => n + (p[kind][k] || 0), 0);
  const orderly = (kind) => (sum(kind) ? (p[kind].consecutive + p[kind].sequential) / sum(kind) : null);
  const words = [
    ["reads", orderly("read")],
    ["writes", orderly("write")],
  ]
    .filter(([, v]) => v !== null)
    .map(([w, v]) => `${share(v)} of ${w}`);
  return words.length
    ? `${p.layer}: ${words.join(" and ")} go forward through their file`
    : `${p.layer}: no reads or writes`;
}

const anything = (p) => ORDER.some(([k]) => p.read[k] || p.write[k]);

export function Pattern({ report }) {
  return report.pattern
    .filter(anything)
    .map((p) => (
      <BarFigure
        key={p.layer}
        name={`pattern-${p.layer}`}
        title={patternTitle(p)}
        panels={patternPanels(p)}
        keys={[...KEY, ["wait", "both"]]}
        caption="Consecutive: the access starts where the one before ended. Sequential: it starts further on. Random: it goes back."
      />
    ));
}

export function Operations({ report }) {
  const layers = [...new Set(report.operations.map((o) => o.layer))];
  if (layers.length === 0) return null;
  const kinds = { reads: "read", writes: "write" };
  const kindOf = (name) => kinds[name] || (/read/i.test(name) ? "read" : /writ/i.test(name) ? "write" : "meta");
  const panels = layers
    .map((layer) => {
      const rows = report.operations
        .filter((o) => o.layer === layer && o.count > 0)
        .map((o) => ({ label: o.name.replace(/_/g, " "), bars: [[{ kind: kindOf(o.name), value: o.count }]] }));
      return { title: layer, format: short, rows, log: wantsLog(rows.map((r) => r.bars[0][0].value)) };
    })
    .filter((panel) => panel.rows.length);
  if (panels.length === 0) return null;
  const all = report.operations.filter((o) => kindOf(o.name) === "meta").reduce((n, o) => n + o.count, 0);
  const data = report.operations.filter((o) => kindOf(o.name) !== "meta").reduce((n, o) => n + o.count, 0);
  return (
    <BarFigure
      name="operations"
      panels={panels}
      keys={[
        ["read", "reads"],
        ["write", "writes"],
        ["meta", "metadata and others"],
      ]}
      title={`${plural(data, "read or write", "reads and writes")}, ${plural(all, "other call")}`}
      caption="Calls of each layer, over all ranks."
    />
  );
}
