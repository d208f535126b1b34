#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""explain.py IORAMA TABLES: `iorama explain` knows everything that a report names, and every row of the tables."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "compat"), os.path.join(os.path.dirname(HERE), "gen")]
from rule_cases import CASES  # noqa: E402
from common import Tap, in_parallel, shared_logs  # noqa: E402
from jobs import Job  # noqa: E402
from layout import load_tables  # noqa: E402
from rules import ENVIRONMENT, report  # noqa: E402

LEVELS = ("HIGH", "WARN", "INFO", "OK")


def run(iorama, *arguments):
    return subprocess.run([iorama, "explain", *arguments], stdin=subprocess.DEVNULL, capture_output=True, env=ENVIRONMENT)


def named_in(document):
    """Every word of a report that has a meaning of its own."""
    names = set(LEVELS)
    for f in document["findings"]:
        names.update([f["rule"], f["topic"], f["confidence"], *f["drishti"], *(v["name"] for v in f["values"])])
    names.update(check["rule"] for check in document["checks"]["rules"])
    names.update(limit["name"] for limit in document["limits"])
    names.update(layer["name"] for layer in document["layers"])
    names.update(layer["label"] for layer in document["layers"])
    names.update(module["name"] for module in document["modules"])
    names.update(operation["name"] for operation in document["operations"])
    names.update(term["term"] for term in document["glossary"])
    for counters in document["counters"].values():
        names.update(counters)
    # ... and every such word in its sentences
    texts = [document["verdict"]["text"], *document["banner"]]
    for f in document["findings"]:
        own = {c["name"] for c in f["culprits"]}  # names of the job's own files
        for text in (f["title"], f["evidence"], f["how"], f["advice"]):
            if text and not any(name in text or name.rsplit("/", 1)[-1] in text for name in own):
                texts.append(text)
    for text in texts:
        names.update(FIELD.findall(text))
        names.update(word for word in NAMES.findall(text) if "/" not in text)
    return names


def names_of_case(item):
    number, iorama, tables, folder = item
    job = Job(tables, **CASES[number].job)
    CASES[number].build(job, CASES[number].at)
    path = job.write(os.path.join(folder, "%d.darshan" % number))
    return named_in(report(iorama, path))


def names_of_log(item):
    iorama, path = item
    try:
        return named_in(report(iorama, path))
    except RuntimeError:  # damaged: the other tests tell
        return set()


def explain(iorama, names):
    """Names that are not known, and those of which too little is said."""
    wrong, names = [], sorted(names)
    for some in [names[first : first + 50] for first in range(0, len(names), 50)]:
        done = run(iorama, "--json", *some)
        if done.returncode == 0:
            wrong += ["%s: nothing is said" % topic["name"] for topic in json.loads(done.stdout) if not topic["text"]]
            continue
        for name in some:  # which of them?
            done = run(iorama, "--json", name)
            if done.returncode != 0:
                wrong.append("%s: %s" % (name, done.stderr.decode().strip()))
    return wrong


def all_counters(path):
    with open(path) as file:
        modules = json.load(file)["modules"]
    for module in modules:
        for part in (module["header"], module["record"]):
            for field in part["fields"] if part else []:
                yield field["name"]


def widths(iorama, names):
    """No line is wider than asked for, unless it is one word."""
    for width in (40, 80, 132):
        for name in names:
            for line in run(iorama, "--width", str(width), name).stdout.decode().split("\n")[1:]:
                if len(line) > width and " " in line.strip().split("  ")[-1].strip():
                    yield "%s, %d columns: %r" % (name, width, line)


def mistyped(iorama):
    for wrong, want in (("W001", "W01"), ("POSIX_OPEN", "POSIX_OPENS"), ("data seiving", "data sieving"), ("posix_f_meta_tmie", "POSIX_F_META_TIME"),
                        ("seiving", "data sieving"), ("small_request_absolute", "small_requests_absolute"), ("aggregatox", "aggregator"),
                        ("IORAMA_TRACES", "IORAMA_TRACE")):  # fmt: skip
        done = run(iorama, wrong)
        said = done.stderr.decode()
        if done.returncode != 2 or want not in re.split(r"[ ,?]+", said.replace(want, want.replace(" ", "_"))) and want not in said:
            yield "%s: %d %s" % (wrong, done.returncode, said)
        if done.stdout or said.count("\n") != 1:
            yield "%s: one line was expected: %s" % (wrong, said)
    done = run(iorama, "xyzzyxyzzyxyzzy")
    if done.returncode != 2 or b"did you mean" in done.stderr:
        yield "xyzzy: %d %s" % (done.returncode, done.stderr)


def spellings(iorama):
    """Letter case and what joins words make no difference; words need no quotes."""
    want = run(iorama, "data sieving").stdout
    for words in (["Data", "Sieving"], ["data-sieving"], ["DATA_SIEVING"], ["sieving"]):
        if run(iorama, *words).stdout != want:
            yield "%s is not data sieving" % words
    if run(iorama, "w01").stdout != run(iorama, "W01").stdout:
        yield "w01 is not W01"


# words of the field: where a text of a rule or an advice has one, people will ask for it
FIELD = re.compile(r"""\b(?:O_[A-Z]+|MPI_[A-Z]\w+|romio_\w+|cb_\w+|striping_\w+|page\ cache|chunk\ cache|caches?|cached|latency|write-back
    |critical\ path|prefetch(?:ing)?|read-ahead|collective(?:\ buffering)?|aggregators?|alignment|unaligned|amplification|data\ sieving
    |stragglers?|imbalance|hyperslabs?|datatypes?|define\ mode|fill\ values?|chunks?|datasets?|variables?|attributes?|hints?|holes?
    |offsets?|stripes?|targets?|servers?|clients?|locks?|stalls?|percentiles?|barrier|buffers?|buffering|streams?|metadata|fsync
    |fdatasync|mmap|contiguous|lookups?|preads?|pwrites?|flush(?:es)?|transactions?|ulimit|burst\ buffer|bursts?|phases?|nodes?|ranks?|process(?:es)?|dimensions?|elements?|pipes?|sockets?
    |broadcasts?|B-trees?|variation|file\ systems?|FUSE|NFS|Lustre|journal|seeks?|syncs?|system\ calls?|links|threads?|background|atomic\ mode
    |shared\ file\ pointer|conversion)\b""", re.X)  # fmt: skip
# names of things: with an underscore, or in capitals
NAMES = re.compile(r"\b(?:[A-Za-z]\w*_\w+|[A-Z]{3,}\d*)\b")
ASKED = {"latency", "page cache", "O_SYNC", "prefetch", "critical path", "write-back", "collective buffering"}


def conditions(pages):
    """A figure is never compared with itself: a limit of the same name is called so."""
    for line in pages.split("\n"):
        for a, b in re.findall(r"\b([a-z]\w*) (?:>=?|<=?) ([a-z]\w*)\b", line):
            if a == b:
                yield line


def main():
    iorama, tables = os.path.abspath(sys.argv[1]), load_tables(sys.argv[2])
    folder = tempfile.mkdtemp(prefix="iorama-explain-")
    tap = Tap()
    try:
        found = set()
        for names in in_parallel(names_of_case, [(k, iorama, tables, folder) for k in range(len(CASES))], 2):
            found |= names
        tap.case("reports name %d things" % len(found), explain(iorama, found))
    finally:
        shutil.rmtree(folder)
    listed = json.loads(run(iorama, "--json").stdout)
    for kind, topics in listed.items():
        names = [topic["name"] for topic in topics]
        empty = ["%s: nothing is said" % topic["name"] for topic in topics if kind != "counters" and not topic["text"]]
        tap.case("%d %s" % (len(names), kind), (["there are none"] if not names else []) + empty)
    # all that is said of rules, and so all that reports say
    pages = run(iorama, "--width", "1000", *[topic["name"] for topic in listed["rules"]]).stdout.decode()
    words = set(FIELD.findall(pages)) | ASKED
    tap.case("%d words of the field that rules use" % len(words), explain(iorama, words) + (["too few"] if len(words) < 20 else []))
    tap.case("conditions compare two things", list(conditions(pages)))
    counters = set(all_counters(sys.argv[2]))
    missing = counters - {topic["name"] for topic in listed["counters"]}
    tap.case("every counter of the tables", sorted(missing))
    codes = ["P%02d" % k for k in range(1, 23) if k != 20] + ["M%02d" % k for k in range(1, 11)] + ["S01", "D01", "D02"]
    unknown = explain(iorama, codes)
    tap.case("every code of Drishti", unknown)
    some = [topic["name"] for topic in listed["rules"]] + ["POSIX", "small_requests", "data sieving", "IORAMA_DIR"]
    tap.case("lines fit", list(widths(iorama, some)))
    tap.case("names that are almost right", list(mistyped(iorama)))
    tap.case("spellings", list(spellings(iorama)))
    logs = shared_logs("corpus")
    found = set().union(*in_parallel(names_of_log, [(iorama, path) for path in logs], 2)) if logs else set()
    tap.case("what reports of %d real logs name" % len(logs), explain(iorama, found))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
