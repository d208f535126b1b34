// SPDX-License-Identifier: BSD-3-Clause
// waits.jsx: what the ranks of a running job wait in, since when, and the files that move.
import { Path } from "../components/table.jsx";
import { useState } from "preact/hooks";
import { bytes, count, rate, seconds } from "../data/format.js";
import { api, send, useAnswer, useEvery } from "./api.js";
import { List } from "./parts.jsx";

// Live events of one's own job, for a minute: every call then, as far as an agent reads them.
function Events({ job, left, again }) {
  const [error, setError] = useState(null);
  const on = left > 0;
  function turn() {
    setError(null);
    send(api(`jobs/${job.job}/live`), "POST", { seconds: on ? 0 : 60 }).then(again, setError);
  }
  return (
    <p class="dim" aria-live="polite">
      <button type="button" class="small" onClick={turn}>
        {on ? "Events off" : "Events on for 60 s"}
      </button>{" "}
      {error
        ? error.message
        : on
          ? `Each call is told for ${Math.ceil(left)} s more.`
          : "Each call of it, not only sums."}
    </p>
  );
}

export function Waits({ job, who }) {
  const round = useEvery(2);
  const [asked, setAsked] = useState(0);
  const [now] = useAnswer(api(`jobs/${job.job}/now`), round + asked);
  if (!now) return null;
  return (
    <section aria-label="calls at work">
      <h2>Waits in</h2>
      {now.here > 0 && who && who.user === job.user && (
        <Events job={job} left={now.events} again={() => setAsked((n) => n + 1000000)} />
      )}
      {now.here + now.told === 0 ? (
        <p class="dim">
          None of its processes runs on the machine of this server, and no agent has told in the last seconds what they
          are at (<code>iorama watch</code> on their nodes does).
        </p>
      ) : (
        <>
          {now.here + now.told < now.of && (
            <p class="dim">
              Known of {count(now.here + now.told)} of {count(now.of)} processes; the agents of the others are silent.
            </p>
          )}
          <List
            label="calls at work"
            empty="No rank is in a call this moment."
            rows={(now.waits || []).map((row, i) => ({ ...row, key: i }))}
            columns={[
              ["Rank", (row) => row.rank, true],
              ["Call", (row) => row.call],
              ["Since", (row) => seconds(row.since), true],
              ["File", (row) => <Path name={row.file || "not known"} />],
              ["Node", (row) => row.host],
            ]}
          />
          <h2>Files that move</h2>
          <List
            label="files that move"
            empty="No file moved in the last seconds."
            rows={(now.files || []).filter((row) => row.bytes > 0).map((row, i) => ({ ...row, key: i }))}
            columns={[
              ["File", (row) => <Path name={row.file} />],
              ["Read", (row) => rate(row.read_rate), true],
              ["Written", (row) => rate(row.write_rate), true],
              ["So far", (row) => bytes(row.bytes), true],
              ["Processes", (row) => count(row.processes), true],
            ]}
          />
        </>
      )}
    </section>
  );
}
