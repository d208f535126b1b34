// SPDX-License-Identifier: BSD-3-Clause
// findings.jsx: what is wrong, most expensive first; what it rests on; what to do.
import { useState } from "preact/hooks";
import { useTime } from "../components/hooks.js";
import { Path } from "../components/table.jsx";
import { bytes, count, plural, seconds, share, value } from "../data/format.js";
import { Level } from "./head.jsx";

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function Snippet({ snippet }) {
  const [state, setState] = useState("copy");
  return (
    <div class="snippet">
      <div class="snippet-head">
        <span>
          {snippet.title} <span class="dim">{snippet.language}</span>
        </span>
        <button
          type="button"
          class="small"
          aria-label={`${state}: ${snippet.title}`}
          onClick={async () => setState((await copy(snippet.text)) ? "copied" : "cannot copy")}
        >
          {state}
        </button>
      </div>
      <pre tabIndex={0}>
        <code>{snippet.text}</code>
      </pre>
    </div>
  );
}

// Open where it matters most; elsewhere one line says what there is.
function Snippets({ snippets, open }) {
  if (snippets.length === 0) return null;
  return (
    <details class="snippets" open={open}>
      <summary>
        {snippets.length === 1 ? "Lines to change" : `Lines to change, ${snippets.length} ways`}:{" "}
        {[...new Set(snippets.map((s) => s.title))].join(" · ")}
      </summary>
      {snippets.map((s, i) => (
        <Snippet key={i} snippet={s} />
      ))}
    </details>
  );
}

function Culprits({ finding }) {
  if (finding.culprits.length === 0) return null;
  const rest = finding.culprits_total - finding.culprits.length;
  return (
    <div class="culprits">
      <h4>Where</h4>
      <ul>
        {finding.culprits.map((c, i) => (
          <li key={i}>
            {c.kind === "file" ? <Path name={c.name} /> : <span>{c.name}</span>}
            <span class="dim">{c.text}</span>
          </li>
        ))}
      </ul>
      {rest > 0 && <p class="dim">and {count(rest)} more</p>}
    </div>
  );
}

function Values({ finding }) {
  if (finding.values.length === 0) return null;
  return (
    <div>
      <h4>It rests on</h4>
      <dl class="values">
        {finding.values.map((v) => (
          <div key={v.name}>
            <dt title={v.name}>{v.doc || v.name}</dt>
            <dd>{value(v.unit, v.value)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function Details({ finding }) {
  const drishti = finding.drishti.length ? `; ${finding.drishti.join(", ")} in Drishti` : "";
  return (
    <details class="more-details">
      <summary>Evidence, how it was estimated</summary>
      <div class="columns">
        <Culprits finding={finding} />
        <Values finding={finding} />
      </div>
      {finding.how && (
        <p>
          <b>Cost:</b> {finding.how}
        </p>
      )}
      <p class="dim">
        Rule {finding.rule} ({finding.topic}
        {drishti}), confidence {finding.confidence}. <code>iorama explain {finding.rule}</code>
      </p>
    </details>
  );
}

function Cost({ finding, most }) {
  return (
    <div class="cost">
      <b>{seconds(finding.cost_s)}</b>
      <small>{share(finding.cost_share)} of run time</small>
      <div class="cost-bar" aria-hidden="true">
        <span class={finding.level} style={{ width: `${most > 0 ? (100 * finding.cost_s) / most : 0}%` }} />
      </div>
    </div>
  );
}

// The finding that gives the advice already.
function Reference({ rule, numbers }) {
  const number = numbers.get(rule);
  if (!number) return <p class="advice">As for {rule}.</p>;
  return (
    <p class="advice">
      As for finding{" "}
      <a href={`#finding-${number}`}>
        {number} ({rule})
      </a>
      .
    </p>
  );
}

function Finding({ finding, number, most, numbers, drawn }) {
  const time = useTime();
  const zoom = () => {
    time.zoomTo(finding.window);
    document.getElementById("timeline")?.scrollIntoView({ behavior: "auto", block: "start" });
  };
  return (
    <article
      class={`finding ${finding.level} ${finding.cost_s > 0 ? "" : "free"}`}
      id={`finding-${number}`}
      aria-label={`finding ${number}`}
    >
      {finding.cost_s > 0 && <Cost finding={finding} most={most} numbers={numbers} />}
      <div class="finding-body">
        <h3>
          <span class="finding-number">{number}</span> <Level level={finding.level} /> {finding.title}
        </h3>
        {finding.evidence && <p class="evidence">{finding.evidence}</p>}
        {finding.window && time && drawn && (
          <button
            type="button"
            class="small"
            onClick={zoom}
            aria-label={`finding ${number}: show its time in the timeline`}
          >
            t = {seconds(finding.window[0])} – {seconds(finding.window[1])}: show in the timeline
          </button>
        )}
        {finding.bytes > 0 && <span class="chip">{bytes(finding.bytes)} concerned</span>}
        {finding.advice_ref ? (
          <Reference rule={finding.advice_ref} numbers={numbers} />
        ) : (
          finding.advice && <p class="advice">{finding.advice}</p>
        )}
        <Snippets snippets={finding.snippets} open={number === 1} />
        <Details finding={finding} />
      </div>
    </article>
  );
}

function Checks({ checks }) {
  const order = { found: 0, passed: 1, not_applicable: 2 };
  const words = { found: "found", passed: "passed", not_applicable: "does not apply" };
  const rules = [...checks.rules].sort((a, b) => order[a.state] - order[b.state] || (a.rule < b.rule ? -1 : 1));
  return (
    <details class="fold" id="checks">
      <summary>
        Checked {plural(checks.total, "rule")}: {count(checks.found)} found, {count(checks.passed)} passed,{" "}
        {count(checks.not_applicable)} {checks.not_applicable === 1 ? "does" : "do"} not apply
      </summary>
      <ul class="checks">
        {rules.map((r) => (
          <li key={r.rule} class={r.state}>
            <code>{r.rule}</code> <span>{r.title}</span> <i>{words[r.state]}</i>
          </li>
        ))}
      </ul>
    </details>
  );
}

// drawn: there are pictures over time, in which a finding can be shown
export function Findings({ report, drawn = true }) {
  const numbered = report.findings.map((finding, i) => ({ finding, number: i + 1 }));
  const open = numbered.filter(({ finding }) => finding.level === "HIGH" || finding.level === "WARN");
  const folded = numbered.filter(({ finding }) => finding.level !== "HIGH" && finding.level !== "WARN");
  const numbers = new Map(numbered.map(({ finding, number }) => [finding.rule, number]).reverse());
  const most = Math.max(...report.findings.map((f) => f.cost_s || 0), 0);
  return (
    <section id="findings" aria-label="findings">
      <h2>Findings</h2>
      {open.length === 0 && <p class="calm">Nothing here is worth changing for speed.</p>}
      {open.map((f) => (
        <Finding key={f.number} {...f} most={most} numbers={numbers} drawn={drawn} />
      ))}
      {folded.length > 0 && (
        <details class="fold" id="remarks">
          <summary>{plural(folded.length, "remark")} of little or no cost</summary>
          {folded.map((f) => (
            <Finding key={f.number} {...f} most={most} numbers={numbers} drawn={drawn} />
          ))}
        </details>
      )}
      <Checks checks={report.checks} />
    </section>
  );
}
