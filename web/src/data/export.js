// SPDX-License-Identifier: BSD-3-Clause
// export.js: what leaves the page: CSV, SVG, the document itself.

function field(v) {
  if (v === null || v === undefined) return "";
  // programs for tables take a text that begins so for a formula
  const text = typeof v === "string" && /^[=+\-@\t\r]/.test(v) ? `'${v}` : String(v);
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

// rows of values; the first one has the names
export function csv(rows) {
  return rows.map((row) => row.map(field).join(",")).join("\n") + "\n";
}

export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
export const escape = (s) => String(s).replace(/[&<>"]/g, (c) => escapes[c]);
const number = (n) => String(Math.round(n * 100) / 100);

// The few strokes that all our figures need, as SVG; CanvasPen in pen.js has the same on a canvas.
export class SvgPen {
  constructor(width, height, colours) {
    this.parts = [];
    this.width = width;
    this.height = height;
    this.colours = colours;
  }

  rect(x, y, w, h, fill, alpha = 1) {
    const shade = alpha < 1 ? ` fill-opacity="${alpha}"` : "";
    this.parts.push(
      `<rect x="${number(x)}" y="${number(y)}" width="${number(w)}" height="${number(h)}" fill="${fill}"${shade}/>`,
    );
  }

  line(points, stroke, width = 1, dash = null) {
    const path = points.map(([x, y], i) => `${i ? "L" : "M"}${number(x)} ${number(y)}`).join("");
    const dashes = dash ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    this.parts.push(`<path d="${path}" fill="none" stroke="${stroke}" stroke-width="${width}"${dashes}/>`);
  }

  text(x, y, words, fill, { align = "left", size = 12, bold = false } = {}) {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    this.parts.push(
      `<text x="${number(x)}" y="${number(y)}" fill="${fill}" font-size="${size}" text-anchor="${anchor}"` +
        `${bold ? ' font-weight="600"' : ""}>${escape(words)}</text>`,
    );
  }

  // a picture made of cells: each(callback(x, y, w, h, colour))
  cells(each) {
    each((x, y, w, h, colour) => this.rect(x, y, w, h, colour));
  }

  toString() {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" ` +
      `viewBox="0 0 ${this.width} ${this.height}" font-family="system-ui, sans-serif" shape-rendering="crispEdges">` +
      `<rect width="100%" height="100%" fill="${this.colours.page}"/>${this.parts.join("")}</svg>\n`
    );
  }
}
