// SPDX-License-Identifier: BSD-3-Clause
// bars.jsx: rows of bars with their values written beside them. A panel is
//   { title, format(v), rows: [{ label, bars: [[{ kind, value }, ...], ...] }], log }
// where each list in `bars` is one bar, its parts put end to end. kind: read, write, meta, wait.
import { SvgPen } from "../data/export.js";

const sum = (parts) => parts.reduce((total, part) => total + (part.value || 0), 0);

// Lengths 0..1. On a logarithmic scale the least value still has a length; parts share their bar evenly by value.
export function scaleOf(panel) {
  const totals = panel.rows.flatMap((row) => row.bars.map(sum)).filter((v) => v > 0);
  const most = Math.max(...totals, 0);
  const least = Math.min(...totals, most);
  if (!panel.log || most <= least) return (v) => (most > 0 ? v / most : 0);
  const from = Math.log(least) - Math.log(most / least) * 0.08 - 0.1;
  return (v) => (v > 0 ? (Math.log(v) - from) / (Math.log(most) - from) : 0);
}

// Worth a logarithmic scale: the smaller bars could not be seen on a linear one.
export function wantsLog(values) {
  const some = values.filter((v) => v > 0);
  return some.length > 1 && Math.max(...some) / Math.min(...some) > 200;
}

export function panelTitle(panel) {
  return panel.log ? `${panel.title} (logarithmic)` : panel.title;
}

function Bar({ parts, scale, format }) {
  const total = sum(parts);
  const length = scale(total);
  return (
    <div class="bar-line">
      <div class="bar-room">
        <div class="bar" style={{ width: `${(length * 100).toFixed(2)}%` }}>
          {parts
            .filter((p) => p.value > 0)
            .map((p) => (
              <span
                key={p.kind}
                class={`part ${p.kind}`}
                style={{ flexGrow: p.value / total }}
                title={`${p.kind} ${format(p.value)}`}
              />
            ))}
        </div>
      </div>
      <span class="bar-value">{total > 0 ? format(total) : "–"}</span>
    </div>
  );
}

const nothing = (row) => row.bars.every((parts) => sum(parts) === 0);
// a bar of nothing beside one of something would be a dash without a meaning
const something = (row) => (nothing(row) ? row.bars.slice(0, 1) : row.bars.filter((parts) => sum(parts) > 0));

export function BarPanel({ panel }) {
  const scale = scaleOf(panel);
  return (
    <div class="panel">
      <h4>{panelTitle(panel)}</h4>
      <div role="table" aria-label={panelTitle(panel)}>
        {panel.rows.map((row) => (
          <div class="bar-row" role="row" key={row.label}>
            <span class="bar-label" role="rowheader" title={row.label}>
              {row.label}
            </span>
            <div class="bar-stack" role="cell">
              {nothing(row) ? (
                <div class="bar-line">
                  <div class="bar-room" />
                  <span class="bar-value dim">–</span>
                </div>
              ) : (
                something(row).map((parts, i) => <Bar key={i} parts={parts} scale={scale} format={panel.format} />)
              )}
            </div>
          </div>
        ))}
      </div>
    </div>
  );
}

export function BarPanels({ panels }) {
  return (
    <div class="panels">
      {panels.map((panel) => (
        <BarPanel key={panel.title} panel={panel} />
      ))}
    </div>
  );
}

export function panelsSvg(panels, colours, title) {
  const [label, room, value, thick] = [190, 300, 110, 12];
  const column = label + room + value + 20;
  const heightOf = (p) => p.rows.reduce((h, row) => h + something(row).length * (thick + 2) + 6, 30);
  const pen = new SvgPen(panels.length * column + 10, Math.max(...panels.map(heightOf)) + 40, colours);
  pen.text(10, 22, title, colours.text, { size: 15, bold: true });
  panels.forEach((panel, i) => {
    const scale = scaleOf(panel);
    const x = 10 + i * column;
    let y = 60;
    pen.text(x, y - 12, panelTitle(panel), colours.text, { bold: true });
    for (const row of panel.rows) {
      pen.text(x, y + thick - 2, row.label.length > 28 ? `…${row.label.slice(-27)}` : row.label, colours.dim);
      for (const parts of something(row)) {
        const total = sum(parts);
        let at = x + label;
        for (const part of parts.filter((p) => p.value > 0)) {
          const w = (scale(total) * room * part.value) / total;
          pen.rect(at, y, w, thick, colours[part.kind] || colours.wait);
          at += w;
        }
        pen.text(at + 6, y + thick - 2, total > 0 ? panel.format(total) : "–", colours.text);
        y += thick + 2;
      }
      y += 6;
    }
  });
  return pen.toString();
}

export function panelsRows(panels) {
  const rows = [["panel", "row", "bar", "kind", "value"]];
  for (const panel of panels)
    for (const row of panel.rows)
      row.bars.forEach((parts, i) => parts.forEach((p) => rows.push([panel.title, row.label, i + 1, p.kind, p.value])));
  return rows;
}
