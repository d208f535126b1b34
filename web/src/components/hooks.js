// SPDX-License-Identifier: BSD-3-Clause
// hooks.js: what the page knows about its reader: width, light or dark, screen or paper.
import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { palette } from "../data/theme.js";

const PAPER = 680; // CSS pixels between the margins of an A4 page

// What is folded is opened for paper, and folded again.
function unfold() {
  for (const fold of document.querySelectorAll("details:not([open]):not(.screen)")) {
    fold.dataset.folded = "";
    fold.open = true;
  }
}

function foldAgain() {
  for (const fold of document.querySelectorAll("details[data-folded]")) {
    delete fold.dataset.folded;
    fold.open = false;
  }
}

// { colours, dark, printing }: paper is always light
export const Scheme = createContext({ colours: palette(false), dark: false, printing: false });
export const useScheme = () => useContext(Scheme);

// { window: [t0, t1], zoom(window), reset(), home, runTime }: one window of time for all views
export const Time = createContext(null);
export const useTime = () => useContext(Time);

export function useReaderScheme() {
  const query = useRef(window.matchMedia("(prefers-color-scheme: dark)")).current;
  const [dark, setDark] = useState(query.matches);
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const change = () => setDark(query.matches);
    const before = () => {
      setPrinting(true);
      unfold();
    };
    const after = () => {
      setPrinting(false);
      foldAgain();
    };
    query.addEventListener("change", change);
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      query.removeEventListener("change", change);
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  }, []);
  const shown = dark && !printing;
  return { colours: palette(shown), dark: shown, printing };
}

// [ref, width of the element in whole CSS pixels]
export function useWidth(fallback = 800) {
  const ref = useRef(null);
  const { printing } = useScheme();
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => ref.current && setWidth(Math.floor(ref.current.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return [ref, printing ? PAPER : width || fallback];
}
