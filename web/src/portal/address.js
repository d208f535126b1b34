// SPDX-License-Identifier: BSD-3-Clause
// address.js: what is shown is in the address of the page, so that it can be sent to somebody, and back goes back.
import { useEffect, useState } from "preact/hooks";

export function link(query) {
  const words = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== "" && v !== null && v !== undefined));
  return `?${words}`;
}

const asked = () => Object.fromEntries(new URLSearchParams(location.search));

export function go(query, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", link(query));
  dispatchEvent(new Event("went"));
}

// [what the address asks for, a function that changes some of it]
export function useAddress() {
  const [query, setQuery] = useState(asked);
  useEffect(() => {
    const read = () => setQuery(asked());
    // links within the page do not load it again
    const click = (event) => {
      const anchor = event.target.closest?.("a[href^='?']");
      if (!anchor || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      history.pushState(null, "", anchor.getAttribute("href"));
      read();
      scrollTo(0, 0);
      document.getElementById("page")?.focus({ preventScroll: true });
    };
    addEventListener("popstate", read);
    addEventListener("went", read);
    document.addEventListener("click", click);
    return () => {
      removeEventListener("popstate", read);
      removeEventListener("went", read);
      document.removeEventListener("click", click);
    };
  }, []);
  return [query, (change) => go({ ...query, ...change })];
}
