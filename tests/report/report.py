#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report.py IORAMA TABLES own|corpus: reports of many logs, in all forms.

own     logs of tests/cli and of every module and version from tests/gen
corpus  the real logs in the folder `corpus` of $IORAMA_SHARED

Of each log: every form is made without a complaint; the JSON validates against docs/format/report.schema.json and keeps
its own promises; terminal, Markdown, CSV and the page say the same figures. What a figure must be is told here from the
records (the second reader, or the generator), not by the program."""
import base64
import csv
import fnmatch
import gzip
import io
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
for folder in (HERE, os.path.join(ROOT, "tests", "compat"), os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "tests", "gen")):
    sys.path.insert(0, folder)
import common  # noqa: E402
import family  # noqa: E402
import human  # noqa: E402
import layout  # noqa: E402
import logs  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = os.path.join(ROOT, "docs", "format", "report.schema.json")
LONG = 64  # numbers of an array that the schema is asked about; all are checked to be numbers before
state = {}


class Wrong(Exception):
    pass


def must(what, ours, want):
    if ours != want:
        raise Wrong("%s: %r, must be %r" % (what, ours, want))


def near(what, ours, want, most=1e-6):
    if abs(ours - want) > most * max(1, abs(ours), abs(want)):
        raise Wrong("%s: %r, must be %r" % (what, ours, want))


def about(what, ours, cells):
    """A sum of cells that were rounded to whole bytes each."""
    if abs(ours - sum(cells)) > sum(cell != 0 for cell in cells):
        near(what, ours, sum(cells))


# ---- running

TABLES = ("findings files groups ranks layers sizes pattern operations timeline phases named ops mounts targets modules checks limits").split()
FORMS = {
    "json": ("--json",), "md": ("--markdown", "--verbose"), "html": ("--html",), "svg": ("--svg",), "ascii": (), "verbose": ("--verbose", "--width", "80"),
    "short": ("--short", "--width", "80"), **{"w%d" % w: ("--width", str(w)) for w in (80, 100, 200)}, **{"csv-" + t: ("--csv=" + t,) for t in TABLES},
}  # fmt: skip


def run(form, paths, folder):
    """Makes one form of all reports, a file each."""
    locale = "C" if form == "ascii" else "C.UTF-8"
    done = subprocess.run(
        [state["iorama"], "report", "-q", *FORMS[form], "-o", folder, *paths], stdin=subprocess.DEVNULL, capture_output=True, timeout=250,
        env={**os.environ, "LC_ALL": locale, "TZ": "UTC", "COLUMNS": ""},
    )  # fmt: skip
    return done.returncode, done.stderr.decode("utf-8", "replace")


def make(form):
    """One run for all logs; if that fails, one for each, so that the log can be named."""
    folder = os.path.join(state["folder"], form)
    os.mkdir(folder)
    status, said = run(form, state["paths"], folder)
    if status == 0 and not said:
        return []
    problems = []
    for path in state["paths"]:
        status, said = run(form, [path], folder)
        if status != 0 or said:
            problems.append("%s: %s: exit status %d: %s" % (os.path.basename(path), form, status, said[:300]))
    return problems


def made(path, form):
    suffix = "csv" if form.startswith("csv-") else form if form in ("json", "md", "html", "svg") else "txt"
    name = os.path.basename(path)[: -len(".darshan")]
    with open(os.path.join(state["folder"], form, "%s.%s" % (name, suffix)), "rb") as stream:
        return stream.read()


def rows_of(path, table):
    text = made(path, "csv-" + table).decode("utf-8", "surrogateescape")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row in rows:
        if row.pop("log") != path or None in row or None in row.values():
            raise Wrong("--csv=%s: a row is not whole: %r" % (table, row))
    return rows


# ---- the document itself


def shortened(value):
    """Long rows of numbers are looked at here and cut, for the schema is slow."""
    if isinstance(value, dict):
        return {key: shortened(v) for key, v in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > LONG and all(type(v) in (int, float) for v in value):
        return value[:LONG]
    return [shortened(v) for v in value]


def check_schema(document):
    if jsonschema is None:
        return
    for error in state["validator"].iter_errors(shortened(document)):
        raise Wrong("schema: %s: %s" % ("/".join(map(str, error.absolute_path)), error.message[:300]))


def check_promises(d):
    v = d["verdict"]
    if d["job"]["run_time"] > 0:
        near("shares", v["read_share"] + v["write_share"] + v["meta_share"] + v["other_share"], 1, 1e-6)
    c = d["checks"]
    must("checks", c["found"] + c["passed"] + c["not_applicable"], c["total"])
    for state_ in ("found", "passed", "not_applicable"):
        must("checks " + state_, sum(r["state"] == state_ for r in c["rules"]), c[state_])
    # that figures are lower bounds comes before all of them
    order = [(-1, 0) if f["rule"] == "I01" else ({"HIGH": 0, "WARN": 0, "INFO": 1, "OK": 2}[f["level"]], -f["cost_s"]) for f in d["findings"]]
    must("order of findings", order, sorted(order))
    for f in d["findings"]:
        if f["cost_s"] > d["job"]["run_time"] * 1.000001 and d["job"]["run_time"] > 0:
            raise Wrong("%s costs %s s of %s s" % (f["rule"], f["cost_s"], d["job"]["run_time"]))
    for strip in d["timeline"]["strips"]:
        cells = strip["rows"] * strip["bins"]
        must("cells", [len(strip["write_sum"]), len(strip["read_sum"])], [cells, cells])
        must("ranks of rows", [strip["first"][0], strip["first"][-1], len(strip["first"])], [0, strip["ranks"], strip["rows"] + 1])
        for kind in ("write", "read"):
            cells = strip[kind + "_sum"]
            about("bins of " + kind, sum(strip["bin_" + kind]), cells)
            if strip["rank_" + kind] is not None:
                about("ranks of " + kind, sum(strip["rank_" + kind]), cells)
    if d["trace"]:
        ops = d["trace"]["ops"]
        must("columns of ops", {len(column) for key, column in ops.items() if key != "n"}, {ops["n"]})
    must("files", [len(d["files"]["rows"]), d["files"]["total"]], [d["files"]["shown"], d["totals"]["files"]])
    must("ranks", [len(d["ranks"]["rows"]), d["ranks"]["total"]], [d["ranks"]["shown"], d["job"]["nprocs"]])


# ---- the other forms


def same(text, value):
    """Is the cell of CSV the value in JSON?"""
    if value is None:
        return text == ""
    if isinstance(value, bool):
        return text == ("1" if value else "0")
    if isinstance(value, (int, float)):
        return text != "" and float(text) == float(value)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") == value or "\ufffd" in value


def compare_rows(name, rows, want, columns):
    if len(rows) < len(want):
        raise Wrong("--csv=%s: %d rows, JSON has %d" % (name, len(rows), len(want)))
    for i, (row, w) in enumerate(zip(rows, want)):
        for key in columns or w:
            if key in row and not same(row[key], w[key]):
                raise Wrong("--csv=%s: row %d: %s is %r, in JSON %r" % (name, i, key, row[key], w[key]))


def check_csv(path, d):
    findings = rows_of(path, "findings")
    must("findings", len(findings), len(d["findings"]))
    for name, want in (
        ("findings", d["findings"]), ("files", d["files"]["rows"]), ("groups", d["files"]["groups"]), ("ranks", d["ranks"]["rows"]),
        ("layers", d["layers"]), ("operations", d["operations"]), ("phases", d["timeline"]["phases"]), ("mounts", d["mounts"]),
        ("targets", d["lustre"]["osts"] if d["lustre"] else []), ("modules", d["modules"]), ("checks", d["checks"]["rules"]),
        ("limits", d["limits"]),
    ):  # fmt: skip
        compare_rows(name, findings if name == "findings" else rows_of(path, name), want, None)
    must("all files", len(rows_of(path, "files")), d["files"]["total"])
    sizes = rows_of(path, "sizes")
    for s in d["sizes"]:
        of = [row for row in sizes if row["layer"] == s["layer"]]
        must("sizes", [int(row["reads"]) for row in of], s["read"]["count"])
        must("sizes", [float(row["bytes_written"]) for row in of], [float(x) for x in s["write"]["bytes"]])
    moved = {}
    for row in rows_of(path, "timeline"):
        for kind in ("read", "written"):
            key = (row["layer"], kind)
            moved[key] = moved.get(key, 0) + float(row["bytes_" + kind])
    for strip in d["timeline"]["strips"]:
        about("timeline", moved.get((strip["layer"], "read"), 0), strip["read_sum"])
        about("timeline", moved.get((strip["layer"], "written"), 0), strip["write_sum"])
    if d["trace"]:
        ops = rows_of(path, "ops")
        must("ops", [int(row["length"]) for row in ops], d["trace"]["ops"]["length"])


def numbers_of(d):
    """What is said in one line about bytes and files."""
    t = d["totals"]
    yield "read " + human.size(t["bytes_read"])
    yield "written " + human.size(t["bytes_written"])
    if t["rate"] > 0:
        yield human.size(t["rate"]) + "/s"
    yield "%s file%s" % (human.count(t["files"]), "" if t["files"] == 1 else "s")


def shares_of(d):
    """Not there if the run time is not known. What JSON rounds to 1 need not be all of it."""
    names = ("read", "write", "meta", "other") if d["job"]["run_time"] > 0 else ()
    shares = [(name, d["verdict"][name + "_share"]) for name in names]
    return [r"%s %s" % (name, "(?:100|> 99.9) %" if share == 1 else re.escape(human.share(share))) for name, share in shares]


CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def check_text(path, d):
    for width in (80, 100, 200):
        text = made(path, "w%d" % width).decode("utf-8")
        if CONTROL.search(text):
            raise Wrong("text: a control character: %r" % CONTROL.search(text))
        wide = [line for line in text.split("\n") if len(line) > width]
        must("lines wider than %d" % width, wide, [])
    lines = text.split("\n")
    flat = " ".join(text.split())
    for part in [re.escape(" ".join(d["verdict"]["text"].split())), *shares_of(d)]:
        if not re.search(part, flat):
            raise Wrong("text: %r is not in it" % part)
    for part in numbers_of(d):
        if not any(part in re.split(" {2,}", line) for line in lines):
            raise Wrong("text: %r is not in it" % part)
    told = [m.groups() for m in (re.match(r"^ *(-|[\d,.]+ (?:s|ms|µs))  (HIGH|WARN)  .* ([A-Z]\d\d)$", line) for line in lines) if m]
    want = [
        (human.seconds(f["cost_s"]) if f["cost_s"] > 0 else "-", f["level"], f["rule"]) for f in d["findings"] if f["level"] in ("HIGH", "WARN")
    ]
    must("findings of the text", told, want)
    for form in ("verbose", "short"):
        text = made(path, form).decode("utf-8")
        if not text or CONTROL.search(text):
            raise Wrong("%s: empty, or with control characters" % form)
    if any(byte > 126 for byte in made(path, "ascii")):
        raise Wrong("text: not ASCII in a C locale")


def plain(text):
    """Markdown without its backslashes."""
    return re.sub(r"\\([\\`*_{}\[\]<>#|~&$])", r"\1", text)


def check_markdown(path, d):
    text = made(path, "md").decode("utf-8")
    if CONTROL.search(text.replace("\t", "")):
        raise Wrong("Markdown: a control character")
    lines = [plain(line) for line in text.split("\n")]
    must("verdict of Markdown", "**%s**" % d["verdict"]["text"] in lines, True)
    must("shares of Markdown", any(re.fullmatch(" · ".join(shares_of(d)), line) for line in lines), True)
    line = next((line for line in lines if line.startswith("read ") and "written" in line), "")
    must("numbers of Markdown", line.split(" · ")[: len(list(numbers_of(d)))], list(numbers_of(d)))
    told = [m.groups() for m in (re.match(r"^### ([A-Z]+)(?: · ([\d,.]+ (?:s|ms|µs)))? · .* \(([A-Z]\d\d)\)$", line) for line in lines) if m]
    want = [(f["level"], human.seconds(f["cost_s"]) if f["cost_s"] > 0 else None, f["rule"]) for f in d["findings"]]
    must("findings of Markdown", told, want)
    for layer in d["layers"]:
        times = [layer[kind + "_time"] for kind in ("read", "write", "meta")]
        row = [layer["name"], human.count(layer["files"]), *(human.seconds(time) if time < 1e8 else "*" for time in times),
               human.size(layer["bytes_read"]), human.size(layer["bytes_written"]), *(human.count(layer[kind]) for kind in ("reads", "writes", "metas"))]  # fmt: skip
        if not fnmatch.filter(lines, "| %s |" % " | ".join(row)):  # JSON has nine digits of centuries
            raise Wrong("Markdown: no row %s" % row)


def check_page(path, d):
    text = made(path, "html").decode("utf-8")
    packed = max(re.findall(r"[A-Za-z0-9+/]{40,}={0,2}", text), key=len)
    page = json.loads(gzip.decompress(base64.b64decode(packed)))
    if page != d:
        raise Wrong("the page holds another document: %s" % [key for key in d if page.get(key) != d[key]])


def check_picture(path, d):
    text = made(path, "svg").decode("utf-8")
    if not text.startswith("<svg") and "<svg" not in text[:200]:
        raise Wrong("--svg: no picture: %r" % text[:80])


def check(path):
    problems = []
    try:
        documents = made(path, "json").decode("utf-8").split("\n")
        must("lines of JSON", len(documents), 2)
        d = json.loads(documents[0])
        for step in (check_schema, check_promises):
            step(d)
        for step in state["steps"]:
            step(path, d)
    except Wrong as wrong:
        problems.append(str(wrong))
    except (OSError, ValueError, KeyError, IndexError) as error:
        problems.append("%s: %s" % (type(error).__name__, error))
    return os.path.basename(path), problems


def own_logs(tables, folder):
    os.mkdir(folder)
    logs.make_all(tables, folder)
    found = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    found = [path for path in found if os.path.basename(path) not in ("header-only.darshan", "cut.darshan", "unknown.darshan")]
    for log in family.family(tables, 1, state["only"]):
        if log.complaint or log.left_out() or log.name.endswith(("-bzip2", "-none")):  # the reader's matter
            continue
        path = os.path.join(folder, "gen-%s.darshan" % log.name)
        with open(path, "wb") as stream:
            stream.write(layout.build_log(log))
        found.append(path)
    return found


def main():
    if len(sys.argv) < 4 or sys.argv[3] not in ("own", "corpus"):
        raise SystemExit(__doc__)
    state.update(iorama=sys.argv[1], only=sys.argv[4:] or None)
    if jsonschema is None:
        print("jsonschema is not installed: documents are not validated")
    else:
        with open(SCHEMA, encoding="utf-8") as stream:
            schema = json.load(stream)
        jsonschema.Draft202012Validator.check_schema(schema)
        state["validator"] = jsonschema.Draft202012Validator(schema)
    state["steps"] = [check_csv, check_text, check_markdown, check_page, check_picture]
    with tempfile.TemporaryDirectory(prefix="iorama-report-") as folder:
        state["folder"] = folder
        if sys.argv[3] == "own":
            state["paths"] = own_logs(layout.load_tables(sys.argv[2]), os.path.join(folder, "logs"))
        else:
            state["paths"] = common.shared_logs("corpus")
        if not state["paths"]:
            print("SKIP: no corpus")
            return common.SKIPPED
        failed = 0
        for problems in common.in_parallel(make, list(FORMS), 2):
            failed += len(problems)
            for problem in problems:
                print("not ok " + problem)
        for name, problems in common.in_parallel(check, state["paths"], 2):
            failed += bool(problems)
            for problem in problems:
                print("not ok %s: %s" % (name, problem))
        print("%d logs, %d failures" % (len(state["paths"]), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
