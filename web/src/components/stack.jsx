// SPDX-License-Identifier: BSD-3-Clause
// stack.jsx: panes above each other on one axis of time. It owns pointer, keyboard, cross hair and tooltip; a pane is
//   { key, title, note, height, rows, step, render(frame), hover(t, fraction) }
// where hover returns the lines to show for a moment and a place between top (0) and bottom (1), or null.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useTime, useWidth } from "./hooks.js";
import { ticks } from "../data/strips.js";
import { tick } from "../data/format.js";

const DRAG = 5; // pixels that make a click a drag

// Where time lies in a width: gutters for labels on the left and sums on the right.
export function frameOf(width, [t0, t1]) {
  const narrow = width < 560;
  const left = narrow ? 60 : 66;
  const right = narrow ? 40 : 92;
  const plot = Math.max(20, width - left - right);
  return {
    width,
    left,
    right,
    plot,
    t0,
    t1,
    narrow,
    x: (t) => left + ((t - t0) / (t1 - t0)) * plot,
    time: (x) => t0 + ((x - left) / plot) * (t1 - t0),
  };
}

function lanes(bands) {
  const ends = [];
  return [...bands]
    .sort((a, b) => a.window[0] - b.window[0])
    .map((band) => {
      let lane = ends.findIndex((end) => end <= band.window[0]);
      if (lane < 0) lane = ends.length;
      ends[lane] = band.window[1];
      return { ...band, lane };
    });
}

function Bands({ bands, frame, onZoom }) {
  const placed = lanes(bands.filter((b) => b.window[1] >= frame.t0 && b.window[0] <= frame.t1));
  if (placed.length === 0) return null;
  const rows = Math.max(...placed.map((b) => b.lane)) + 1;
  return (
    <div class="bands" style={{ height: `${rows * 22}px` }}>
      {placed.map((band) => {
        const from = Math.max(frame.left, frame.x(band.window[0]));
        const to = Math.min(frame.left + frame.plot, frame.x(band.window[1]));
        return (
          <button
            type="button"
            key={band.number}
            class={`band ${band.level}`}
            title={band.title}
            aria-label={band.name ? `phase ${band.name}: zoom to its time` : `finding ${band.number}: zoom to its time`}
            onClick={() => onZoom(band.window)}
            style={{
              left: `${from}px`,
              width: `${Math.max(band.name ? 3 : 20, to - from)}px`,
              top: `${band.lane * 22}px`,
            }}
          >
            {band.name || band.number}
          </button>
        );
      })}
    </div>
  );
}

function Axis({ frame, home, runTime }) {
  const { step, list } = ticks(frame.t0, frame.t1, frame.plot / 90);
  const cut = (is, side, text) =>
    is && (
      <span class={`cut ${side}`} title={text}>
        ≈
      </span>
    );
  return (
    <div class="axis" aria-hidden="true">
      {cut(home[0] > 0 && frame.t0 === home[0], "from", `nothing before ${frame.t0.toFixed(2)} s`)}
      {list.map((t) => (
        <span key={t} class="tick" style={{ left: `${frame.x(t)}px` }}>
          {tick(t, step)}
        </span>
      ))}
      {cut(home[1] < runTime && frame.t1 === home[1], "to", `nothing after ${frame.t1.toFixed(2)} s`)}
      <span class="axis-unit" style={{ left: `${frame.left + frame.plot}px` }}>
        s
      </span>
    </div>
  );
}

// Beside the pointer, on the side and height where it fits; measured before it is painted.
function Tip({ at, lines, frame, room }) {
  const ref = useRef(null);
  useLayoutEffect(() => {
    const tip = ref.current;
    const [w, h] = [tip.offsetWidth, tip.offsetHeight];
    const left = at.x + 14 + w <= frame.width ? at.x + 14 : at.x - 14 - w;
    const top = at.y + 14 + h <= room ? at.y + 14 : at.y - 14 - h;
    tip.style.left = `${Math.max(0, Math.min(frame.width - w, left))}px`;
    tip.style.top = `${Math.max(0, top)}px`;
  });
  return (
    <div class="tip" ref={ref}>
      {lines.map((line, i) => (
        <div key={i}>{line}</div>
      ))}
    </div>
  );
}

export function clampWindow([t0, t1], runTime) {
  const span = Math.min(runTime, Math.max(t1 - t0, runTime * 1e-6));
  const from = Math.max(0, Math.min(runTime - span, t0));
  return [from, from + span];
}

// What a key does to the cursor and the window; null: not ours.
function keyAction(key, shift, cursor, panes, window, runTime) {
  const [t0, t1] = window;
  const span = t1 - t0;
  const pane = panes[cursor.pane];
  const step = Math.max(span / 200, Math.min(span / 20, pane.step || 0));
  const move = (dt) => ({ cursor: { ...cursor, t: Math.max(t0, Math.min(t1, cursor.t + dt)) } });
  const zoom = (factor) => ({
    window: clampWindow([cursor.t - (cursor.t - t0) * factor, cursor.t + (t1 - cursor.t) * factor], runTime),
  });
  const pan = (dt) => ({ window: clampWindow([t0 + dt, t1 + dt], runTime), cursor: { ...cursor, t: cursor.t + dt } });
  const row = (d) => {
    const next = cursor.row + d;
    if (next >= 0 && next < (pane.rows || 1)) return { cursor: { ...cursor, row: next } };
    const other = panes[cursor.pane + d];
    return other
      ? { cursor: { ...cursor, pane: cursor.pane + d, row: d > 0 ? 0 : (other.rows || 1) - 1 } }
      : { cursor };
  };
  switch (key) {
    case "ArrowLeft":
      return shift ? pan(-span / 5) : move(-step);
    case "ArrowRight":
      return shift ? pan(span / 5) : move(step);
    case "ArrowUp":
      return row(-1);
    case "ArrowDown":
      return row(1);
    case "Home":
      return move(-span);
    case "End":
      return move(span);
    case "+":
    case "=":
      return zoom(0.5);
    case "-":
    case "_":
      return zoom(2);
    case "Escape":
    case "0":
      return { reset: true };
    default:
      return null;
  }
}

export function Stack({ label, panes, bands = [] }) {
  const time = useTime();
  const [ref, width] = useWidth();
  const frame = frameOf(width, time.window);
  const drag = useRef(null);
  const [selection, setSelection] = useState(null);
  const [hover, setHover] = useState(null); // { pane, t, fraction, x, y }
  const [cursor, setCursor] = useState(null); // the same from the keyboard

  const place = (event) => {
    const box = ref.current.getBoundingClientRect();
    const element = event.target.closest("[data-pane]");
    const x = event.clientX - box.left;
    if (!element) return null;
    const pane = element.getBoundingClientRect();
    return {
      pane: panes.findIndex((p) => p.key === element.dataset.pane),
      x,
      y: event.clientY - box.top,
      t: frame.time(Math.max(frame.left, Math.min(frame.left + frame.plot, x))),
      inside: x >= frame.left - 2 && x <= frame.left + frame.plot + 2,
      fraction: Math.max(0, Math.min(0.999999, (event.clientY - pane.top) / pane.height)),
    };
  };
  const down = (event) => {
    const at = place(event);
    if (!at || !at.inside || event.button !== 0) return;
    drag.current = at;
    ref.current.setPointerCapture(event.pointerId);
  };
  const moved = (event) => {
    if (drag.current) {
      const box = ref.current.getBoundingClientRect();
      const x = Math.max(frame.left, Math.min(frame.left + frame.plot, event.clientX - box.left));
      setSelection(
        Math.abs(x - drag.current.x) > DRAG ? [Math.min(x, drag.current.x), Math.max(x, drag.current.x)] : null,
      );
      setHover(null);
      return;
    }
    const at = place(event);
    setCursor(null);
    setHover(at && at.inside ? at : null);
  };
  const up = () => {
    if (drag.current && selection) time.zoom(clampWindow(selection.map(frame.time), time.runTime));
    drag.current = null;
    setSelection(null);
  };
  const cancel = () => {
    drag.current = null;
    setSelection(null);
  };
  const key = (event) => {
    if (event.target !== ref.current || event.ctrlKey || event.altKey || event.metaKey) return;
    const was = cursor || { pane: 0, row: 0, t: (frame.t0 + frame.t1) / 2 };
    const action = keyAction(event.key, event.shiftKey, was, panes, time.window, time.runTime);
    if (!action) return;
    event.preventDefault();
    setHover(null);
    if (action.reset) {
      setCursor(null);
      time.reset();
      return;
    }
    if (action.window) time.zoom(action.window);
    setCursor(action.cursor || was);
  };

  let at = hover;
  if (!at && cursor && ref.current) {
    const element = ref.current.querySelector(`[data-pane="${panes[cursor.pane]?.key}"]`);
    const fraction = (cursor.row + 0.5) / (panes[cursor.pane]?.rows || 1);
    if (element)
      at = { ...cursor, fraction, x: frame.x(cursor.t), y: element.offsetTop + fraction * element.offsetHeight };
  }
  const lines = at && panes[at.pane] ? panes[at.pane].hover(at.t, at.fraction) : null;
  return (
    <div
      class="stack"
      ref={ref}
      tabIndex={0}
      role="group"
      data-from={frame.t0}
      data-to={frame.t1}
      onPointerDown={down}
      onPointerMove={moved}
      onPointerUp={up}
      onPointerCancel={cancel}
      onPointerLeave={() => !drag.current && setHover(null)}
      onDblClick={() => time.reset()}
      onKeyDown={key}
      onBlur={() => setCursor(null)}
      aria-label={`${label}. Arrow keys read values, plus and minus zoom, shift with left and right moves, escape resets.`}
    >
      <Bands bands={bands} frame={frame} onZoom={(w) => time.zoomTo(w)} />
      {panes.map((pane) => (
        <div class="pane" key={pane.key}>
          <div class="pane-title">
            {pane.title}
            {pane.note && <span class="dim"> · {pane.note}</span>}
          </div>
          <div data-pane={pane.key} style={{ height: `${pane.height}px` }}>
            {pane.render(frame)}
          </div>
        </div>
      ))}
      <Axis frame={frame} home={time.home} runTime={time.runTime} />
      {selection && (
        <div class="selection" style={{ left: `${selection[0]}px`, width: `${selection[1] - selection[0]}px` }} />
      )}
      {at && <div class="hair" style={{ left: `${at.x}px` }} />}
      {lines && <Tip at={at} lines={lines} frame={frame} room={ref.current.clientHeight} />}
      <div class="unseen" role="status">
        {cursor && lines ? lines.join(", ") : ""}
      </div>
    </div>
  );
}
