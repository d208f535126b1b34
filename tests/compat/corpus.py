#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""corpus.py IORAMA: our text of real logs must be that of the original tools, byte for byte.

The logs and texts are in the folder `corpus` of $IORAMA_SHARED. The original tools were built
without AutoPerf, so our sections of its modules are left out of the comparison."""
import argparse
import lzma
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402

TEXTS = {
    "base": ("--base", "--show-incomplete"),
    "all": ("--all", "--show-incomplete"),
    "dxt": ("--dxt", "--threads", "--show-incomplete"),
}
LEFT_OUT = (b"APMPI", b"APXC")
BANNER = re.compile(rb"^\n# \*+\n# (.+) module data\n# \*+\n", re.M)
state = {}


def without_autoperf(text):
    if not any(b"# %s module data\n" % name in text for name in LEFT_OUT):
        return text
    sections = list(BANNER.finditer(text))
    ends = [section.start() for section in sections[1:]] + [len(text)]
    for section, end in reversed(list(zip(sections, ends))):
        if section.group(1) in LEFT_OUT:
            text = text[: section.start()] + text[end:]
    return text


def check(job):
    path, kind = job
    began = time.monotonic()
    with lzma.open("%s.%s.txt.xz" % (path[: -len(".darshan")], kind)) as stream:
        want = stream.read()
    result = common.run(state["iorama"], "show", *TEXTS[kind], path)
    took = time.monotonic() - began
    problems = [common.failed_run(result)]
    ours = without_autoperf(result.out.encode("latin1"))
    if ours != want:
        ours, want = (text.decode("latin1").split("\n") for text in (ours, want))
        problems.append(common.difference(ours, want))
    return "%s %s" % (os.path.basename(path), kind), [p for p in problems if p], took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("iorama", metavar="IORAMA")
    options = parser.parse_args()
    state.update(vars(options))
    logs = common.shared_logs("corpus")
    if not logs:
        print("SKIP: no corpus")
        return common.SKIPPED
    tap = common.Tap()
    jobs = [(path, kind) for path in sorted(logs, key=os.path.getsize, reverse=True) for kind in TEXTS]
    for name, problems, took in common.in_parallel(check, jobs, processes=2):
        tap.case(name, problems, "%.2f s" % took if took > 0.5 else "")
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
