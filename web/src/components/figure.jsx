// SPDX-License-Identifier: BSD-3-Clause
import { csv, download } from "../data/export.js";

// A picture with a title that says what there is to see, a caption that says how to read it, and its data and drawing
// as files: csv() returns rows, svg() text; either may be missing.
export function Figure({ name, title, caption, rows, svg, controls, children, level = 3 }) {
  const Title = `h${level}`;
  return (
    <figure class="figure" id={`figure-${name}`}>
      <div class="figure-head">
        <Title>{title}</Title>
        <div class="tools">
          {controls}
          {rows && (
            <button
              type="button"
              class="small"
              aria-label={`${name}: save as CSV`}
              onClick={() => download(`${name}.csv`, "text/csv", csv(rows()))}
            >
              CSV
            </button>
          )}
          {svg && (
            <button
              type="button"
              class="small"
              aria-label={`${name}: save as SVG`}
              onClick={() => download(`${name}.svg`, "image/svg+xml", svg())}
            >
              SVG
            </button>
          )}
        </div>
      </div>
      {children}
      {caption && <figcaption>{caption}</figcaption>}
    </figure>
  );
}

// One of a few choices, as buttons that tell which is pressed.
export function Choice({ label, options, chosen, onChoose }) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([key, text]) => (
        <button
          type="button"
          key={key}
          class="small"
          aria-pressed={key === chosen ? "true" : "false"}
          onClick={() => onChoose(key)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

export function Key({ items }) {
  return (
    <ul class="key">
      {items.map(([colour, text]) => (
        <li key={text}>
          <span class={`swatch ${colour}`} aria-hidden="true" />
          {text}
        </li>
      ))}
    </ul>
  );
}
