// SPDX-License-Identifier: BSD-3-Clause
// settings.jsx: who one is, of what one is told, how scripts ask, how figures are made.
import { useState } from "preact/hooks";
import { api, send, useAnswer } from "./api.js";

const ROLES = {
  user: "You see your own jobs.",
  project: "You see the jobs of all members of your projects.",
  staff: "You see all jobs.",
};

// One box per alert. What the server says after a change is what is shown.
function Notices() {
  const [rows, error] = useAnswer(api("notices"));
  const [changed, setChanged] = useState(null);
  const [failed, setFailed] = useState("");
  const now = changed || rows;

  function want(alert, wanted) {
    setFailed("");
    send(api("notices"), "PUT", { alert, wanted }).then(setChanged, (why) => setFailed(why.message));
  }
  if (!now) return <p>{error ? error.message : "…"}</p>;
  return (
    <fieldset class="notices">
      <legend>One mail for each of these, with all your jobs, if the site sends any</legend>
      {now.map((row) => (
        <label key={row.alert}>
          <input
            type="checkbox"
            checked={row.wanted === 1}
            onChange={(event) => want(row.alert, event.currentTarget.checked)}
          />
          <span>
            <b>{row.alert}</b>: {row.title}, once a {row.every} (<code>{row.where}</code>)
            {row.told && `; told last on ${row.told.slice(0, 10)}`}
          </span>
        </label>
      ))}
      {failed && <p role="alert">Not kept: {failed}</p>}
    </fieldset>
  );
}

export function Settings({ who }) {
  return (
    <>
      <header class="page-head">
        <h1>Settings</h1>
      </header>
      <h2>Who you are</h2>
      <p>
        <b>{who.user}</b>. {ROLES[who.role]} What you may not see is in no list, sum or search. iorama {who.version}.
      </p>
      <h2>What you are told</h2>
      <Notices />
      <h2>For scripts</h2>
      <p>
        Every table of these pages has an address below <code>api/1/</code> that gives JSON, or CSV with{" "}
        <code>.csv</code> at its end. Scripts send the token of the server:
      </p>
      <pre>
        curl -H "Authorization: Bearer $TOKEN" {location.origin}
        {location.pathname}api/1/jobs.csv
      </pre>
      <h2>How figures are made</h2>
      <dl class="how">
        <dt>Lost, in node-hours</dt>
        <dd>
          What the findings HIGH and WARN of a job cost its slowest rank, at most its I/O time, times its nodes. A job
          whose nodes are not known has one.
        </dd>
        <dt>I/O share</dt>
        <dd>I/O time of the slowest rank by the run time. Jobs without a log have none.</dd>
        <dt>Rates of running jobs</dt>
        <dd>
          Bytes that left the program (POSIX and STDIO), as agents tell them each second; layers above move the same
          bytes.
        </dd>
        <dt>Changes of a program</dt>
        <dd>
          Runs that ended well with as many ranks are compared by their order of size; 1 of 100 programs that stay as
          they are is told to have changed.
        </dd>
      </dl>
    </>
  );
}
