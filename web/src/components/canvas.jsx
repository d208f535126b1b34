// SPDX-License-Identifier: BSD-3-Clause
import { useLayoutEffect, useRef } from "preact/hooks";
import { CanvasPen } from "./pen.js";
import { useScheme } from "./hooks.js";

// A canvas of a fixed height that `draw(pen)` fills again whenever one of `inputs` changes.
export function Canvas({ width, height, draw, inputs, label }) {
  const ref = useRef(null);
  const { colours } = useScheme();
  useLayoutEffect(() => {
    if (width > 0 && height > 0) draw(new CanvasPen(ref.current, width, height, colours));
  }, [width, height, colours, ...inputs]);
  return <canvas ref={ref} role="img" aria-label={label} style={{ width: `${width}px`, height: `${height}px` }} />;
}
