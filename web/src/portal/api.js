// SPDX-License-Identifier: BSD-3-Clause
// api.js: what the server is asked, and what it tells by itself.
import { useEffect, useState } from "preact/hooks";

export async function ask(path, options) {
  const answer = await fetch(path, { credentials: "same-origin", cache: "no-cache", ...options });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(body.error || `status ${answer.status}`), { status: answer.status });
  return body;
}

export function send(path, method, body) {
  return ask(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

// "api/1/WORD?key=value…" without keys that have no value
export function api(word, keys = {}) {
  const query = new URLSearchParams(Object.entries(keys).filter(([, v]) => v !== "" && v !== null && v !== undefined));
  return `api/1/${word}${query.toString() ? `?${query}` : ""}`;
}

// The token in the fragment, which browsers send to nobody, becomes a cookie and is forgotten.
let brought = null;

export async function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", location.pathname + location.search);
    brought = token;
  }
  try {
    if (brought) await login(brought);
    brought = null;
  } catch (error) {
    if (!isBusy(error)) brought = null;
    throw error;
  }
  return ask("api/1/session");
}

export const login = (token) => send("api/1/session", "POST", { token });
export const leave = () => ask("api/1/session", { method: "DELETE" });

// A server that is busy, or begins anew behind its proxy, is asked again by itself, a few times.
const LATER = [2000, 4000, 8000, 16000];
export const isBusy = (error) => !error.status || [429, 502, 503, 504].includes(error.status);

// What an address answers: [answer, error], asked again when it or `round` changes; what was there stays meanwhile.
// null: nothing is asked. Whoever is not let in any more goes to the door.
export function useAnswer(path, round = 0) {
  const [state, setState] = useState([null, null]);
  useEffect(() => {
    if (!path) return undefined;
    let old = false;
    let timer = null;
    const go = (tries) =>
      ask(path).then(
        (answer) => old || setState([answer, null, path]),
        (error) => {
          if (old) return;
          if (error.status === 401) dispatchEvent(new Event("out"));
          setState(([was]) => [was, error]);
          if (isBusy(error) && tries < LATER.length) timer = setTimeout(() => go(tries + 1), LATER[tries]);
        },
      );
    go(0);
    return () => {
      old = true;
      clearTimeout(timer);
    };
  }, [path, round]);
  return state;
}

// ---- what the server tells by itself

const AGAIN = 3000;

// One stream of some topics: told(name, document, topic), state(connected). One that ends is opened again by the browser, but not one
// that is refused, as by a proxy whose server begins anew: that is for us to do.
function connect(topics, told, state) {
  let stream = null;
  let timer = null;
  function open() {
    stream = new EventSource(api("stream", { topics: topics.join(",") }));
    for (const name of ["jobs", "job"])
      stream.addEventListener(name, (event) => {
        const document = JSON.parse(event.data);
        told(name, document, name === "job" ? `job:${document.job}` : name);
      });
    stream.addEventListener("open", () => state(true));
    stream.addEventListener("error", () => {
      state(false);
      if (stream.readyState === EventSource.CLOSED) timer = setTimeout(open, AGAIN);
    });
  }
  open();
  return () => {
    clearTimeout(timer);
    stream.close();
  };
}

// While somebody looks: begin() gives what ends it.
function whileSeen(begin) {
  let end = null;
  function turn() {
    if (document.hidden && end) {
      end();
      end = null;
    } else if (!document.hidden && !end) {
      end = begin();
    }
  }
  document.addEventListener("visibilitychange", turn);
  turn();
  return () => {
    document.removeEventListener("visibilitychange", turn);
    if (end) end();
  };
}

// A browser has six connections to a server, whatever it has tabs. So one tab, which holds a lock, has the streams of all and passes on
// what comes; when it is closed another one takes the lock. Each tab says every few seconds what it wants; who is silent wants nothing.
const AT_ONCE = 8; // topics of a stream
const SAY = 4000;
const SILENT = 3 * SAY;
const me = Math.random().toString(36).slice(2);
let shared = null;

// Holds the lock: opens streams as tabs want them.
function lead(channel, hear) {
  const wants = new Map(); // tab -> [topics, when]
  const last = new Map(); // topic -> [name, document]
  let open = "";
  let ends = [];
  let connected = false;
  const say = (message) => {
    channel.postMessage(message);
    hear(message);
  };
  function settle() {
    const now = Date.now();
    for (const [tab, [, when]] of wants) if (now - when > SILENT) wants.delete(tab);
    const topics = [...new Set([...wants.values()].flatMap(([list]) => list))].sort();
    if (topics.join() === open) return;
    open = topics.join();
    for (const end of ends) end();
    ends = [];
    for (const topic of [...last.keys()]) if (!topics.includes(topic)) last.delete(topic);
    for (let i = 0; i < topics.length; i += AT_ONCE)
      ends.push(
        connect(
          topics.slice(i, i + AT_ONCE),
          (name, document, topic) => {
            last.set(topic, [name, document]);
            say({ name, document, topic });
          },
          (live) => {
            connected = live;
            say({ live });
          },
        ),
      );
  }
  setInterval(settle, SAY);
  return (message) => {
    if (!message.wants) return;
    const before = wants.get(message.tab);
    wants.set(message.tab, [message.wants, Date.now()]);
    settle();
    if (before && before[0].join() === message.wants.join()) return;
    if (connected) say({ live: true });
    for (const topic of message.wants) {
      const [name, document] = last.get(topic) || [];
      if (name) say({ name, document, topic });
    }
  };
}

// What this tab wants of the tab that has the streams: add(listener) gives what takes it away.
function share() {
  const channel = new BroadcastChannel("iorama");
  const listeners = new Set();
  let leader = null;
  function hear(message) {
    for (const one of listeners) {
      if (message.live !== undefined) one.state(message.live);
      else if (one.topics.includes(message.topic)) one.told(message.name, message.document);
    }
  }
  function want() {
    const message = { tab: me, wants: [...new Set([...listeners].flatMap((one) => one.topics))] };
    channel.postMessage(message);
    if (leader) leader(message);
  }
  channel.onmessage = (event) => {
    if (leader) leader(event.data);
    if (!event.data.wants) hear(event.data);
    if (event.data.ask) want();
  };
  addEventListener("pagehide", () => channel.postMessage({ tab: me, wants: [] }));
  setInterval(() => listeners.size > 0 && want(), SAY);
  navigator.locks.request("iorama-streams", () => {
    leader = lead(channel, hear);
    channel.postMessage({ ask: true });
    want();
    return new Promise(() => {});
  });
  return (one) => {
    listeners.add(one);
    want();
    return () => {
      listeners.delete(one);
      want();
    };
  };
}

// Calls told(name, document) for what the topics say, and state(connected), while somebody looks.
function listen(topics, told, state) {
  const list = topics.split(",");
  if (!navigator.locks || typeof BroadcastChannel === "undefined") return whileSeen(() => connect(list, told, state)); // not a safe place: every tab has its own
  shared = shared || share();
  return whileSeen(() => shared({ topics: list, told, state }));
}

// { jobs, job, live, round }: the newest documents of each kind, and how many came
export function useStream(topics) {
  const [state, setState] = useState({ live: false, round: 0 });
  useEffect(() => {
    if (!topics) return undefined;
    return listen(
      topics,
      (name, data) => setState((was) => ({ ...was, [name]: data, live: true, round: was.round + 1 })),
      (live) => setState((was) => ({ ...was, live })),
    );
  }, [topics]);
  return state;
}

// A number that grows every so many seconds while somebody looks.
export function useEvery(seconds) {
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!seconds) return undefined;
    const timer = setInterval(() => document.hidden || setRound((n) => n + 1), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  return round;
}
