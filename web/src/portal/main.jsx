// SPDX-License-Identifier: BSD-3-Clause
// main.jsx: the page of `iorama serve`: which of its pages is shown, and to whom.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Scheme, useReaderScheme } from "../components/hooks.js";
import { link, useAddress } from "./address.js";
import { enter, isBusy, leave, login } from "./api.js";
import { Job } from "./job.jsx";
import { Jobs } from "./jobs.jsx";
import { Nodes } from "./nodes.jsx";
import { clip } from "./parts.jsx";
import { Program } from "./program.jsx";
import { Settings } from "./settings.jsx";
import { Staff } from "./staff.jsx";
import "uplot/dist/uPlot.min.css";
import "./portal.css";

// name in the address: [what it is called, what shows it]; those that are called nothing are reached by links
const PAGES = {
  jobs: ["Jobs", Jobs],
  staff: ["Overview", Staff],
  nodes: ["Nodes and file systems", Nodes],
  settings: ["Settings", Settings],
  job: ["", Job, true], // it has a main part of its own
  program: ["", Program],
};

function Enter({ done }) {
  const [why, setWhy] = useState("");
  const send = async (event) => {
    event.preventDefault();
    try {
      await login(new FormData(event.target).get("token").trim());
      done();
    } catch (error) {
      setWhy(error.message);
    }
  };
  return (
    <main class="enter">
      <h1>iorama</h1>
      <form onSubmit={send}>
        <label>
          Token
          <input name="token" type="password" autocomplete="off" required />
        </label>
        <button class="small">Open</button>
      </form>
      <p role="alert">{why}</p>
      <p class="dim">
        <code>iorama serve</code> prints an address with the token in it, and keeps it in a file that only you can read.
      </p>
    </main>
  );
}

function Bar({ page, who, out }) {
  return (
    <header class="portal-bar">
      <a class="skip" href="#page">
        to the page
      </a>
      <a class="home" href="?">
        iorama
      </a>
      <nav aria-label="pages">
        {Object.entries(PAGES)
          .filter(([, [title]]) => title)
          .map(([name, [title]]) => (
            <a
              key={name}
              href={name === "jobs" ? "?" : link({ page: name })}
              aria-current={name === page ? "page" : undefined}
            >
              {title}
            </a>
          ))}
      </nav>
      <span class="dim who">
        {clip(who.user, 60)}
        {who.role === "staff" ? " · staff" : ""}
      </span>
      <button class="small" onClick={() => leave().then(out)}>
        Log out
      </button>
    </header>
  );
}

function Portal() {
  const [who, setWho] = useState(null);
  const [round, again] = useState(0);
  const [query, set] = useAddress();
  const scheme = useReaderScheme();

  useEffect(() => {
    let timer = null;
    const go = () =>
      enter().then(setWho, (error) => {
        if (isBusy(error)) timer = setTimeout(go, 3000);
        else setWho({ user: null });
      });
    go();
    return () => clearTimeout(timer);
  }, [round]);
  useEffect(() => {
    const out = () => again((n) => n + 1);
    addEventListener("out", out);
    return () => removeEventListener("out", out);
  }, []);
  const name = PAGES[query.page] ? query.page : "jobs";
  const [title, Page, own] = PAGES[name];
  const Frame = own ? "div" : "main";
  useEffect(() => {
    document.title = `${title || clip(query.program, 60) || (query.job ? `Job ${query.job}` : "")} · iorama`;
  }, [title, query.program, query.job]);
  if (!who) return null;
  if (!who.user) return <Enter done={() => again(round + 1)} />;
  return (
    <Scheme.Provider value={scheme}>
      <Bar page={name} who={who} out={() => again(round + 1)} />
      <Frame id="page" tabIndex={-1} class={`page-${name}`}>
        <Page key={`${name} ${query.job || ""} ${query.program || ""}`} who={who} query={query} set={set} />
      </Frame>
    </Scheme.Provider>
  );
}

render(<Portal />, document.getElementById("app"));
