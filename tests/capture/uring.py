#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""uring.py BUILD [CASE...]: real programs that use io_uring. What fio and node say that they did is the truth; what
cannot be seen is counted, and every report says so.

--list prints the cases."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TIMEOUT, Log, Skip, main, must  # noqa: E402

FIO = ["--name=j", "--bs=4k", "--rw=randrw", "--ioengine=io_uring", "--thread", "--randseed=1", "--fallocate=none",
       "--output-format=json", "--overwrite=1"]  # fmt: skip
WAYS = {
    "1": ["--iodepth=1"],
    "32": ["--iodepth=32"],
    "batches": ["--iodepth=32", "--iodepth_batch_submit=16", "--iodepth_batch_complete_min=8"],
    "registered": ["--iodepth=32", "--registerfiles=1", "--fixedbufs=1"],
    "threads": ["--iodepth=8", "--numjobs=4"],
    "vectors": ["--iodepth=4", "--nonvectored=0"],
}
SIZE = 8 << 20


def sums(log, name):
    """Counters of a file, and of all processes."""
    c = {}
    for module in ("POSIX", "PROCESS"):
        for record in log.records(module):
            if module == "PROCESS" or record["name"].endswith(name):
                for key, value in record["counters"].items():
                    if isinstance(value, int):
                        c[key] = c.get(key, 0) + value
    return c


def observe(harness, command, name, **env):
    """One command under `iorama run`, with a file of its own (@): the log, what run and the command said."""
    harness.count += 1
    folder = os.path.join(harness.scratch, "uring%d" % harness.count)
    log = os.path.join(harness.quiet, "uring%d.darshan" % harness.count)
    os.makedirs(folder)
    data = os.path.join(folder, name)
    with open(data, "wb") as file:
        file.write(bytes(SIZE))
    words = [harness.iorama, "run", "-o", log, "--", *[word.replace("@", data) for word in command]]
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("IORAMA_", "DARSHAN_", "LD_", "DXT_"))}
    done = subprocess.run(words, cwd=folder, env=dict(plain, **env), capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode != 0 and re.search("io_uring.*(not permitted|not implemented)", done.stdout + done.stderr):
        raise Skip("io_uring is not allowed here")
    must(done.returncode == 0, "%s: status %s: %s", command[0], done.returncode, (done.stdout + done.stderr)[-500:])
    return Log(harness.iorama, log, False), done.stderr, done.stdout


def fio(harness, args, **env):
    if not shutil.which("fio"):
        raise Skip("fio is not installed")
    log, said, out = observe(harness, ["fio", *FIO, "--filename=@", "--size=%d" % SIZE, *args], "data", **env)
    told = {"READS": 0, "WRITES": 0, "BYTES_READ": 0, "BYTES_WRITTEN": 0}
    for job in json.loads(out[out.index("{") :])["jobs"]:
        told["READS"] += job["read"]["total_ios"]
        told["WRITES"] += job["write"]["total_ios"]
        told["BYTES_READ"] += job["read"]["io_bytes"]
        told["BYTES_WRITTEN"] += job["write"]["io_bytes"]
    return sums(log, "/data"), told, said, log.path


def exact(harness, way):
    if os.uname().machine != "x86_64":
        raise Skip("code is changed on x86-64 only")
    c, told, said, _ = fio(harness, WAYS[way])
    for key, value in told.items():
        must(c.get("POSIX_" + key) == value, "%s: %s is %s, fio says %d", way, key, c.get("POSIX_" + key), value)
    ops = told["READS"] + told["WRITES"]
    must(ops >= 2048 and c["PROCESS_URING_OPS"] == ops, "%s: %d of %d", way, c["PROCESS_URING_OPS"], ops)
    must(c["PROCESS_URING_MISSED"] == 0 and "io_uring: figures" not in said, "%s: missed: %s", way, said)
    must(1 <= c["PROCESS_URING_DEPTH_MAX"] <= 32, "%s: depth %d", way, c["PROCESS_URING_DEPTH_MAX"])


def case_fio(harness):
    """Totals are fio's own, in every way that it submits."""
    for way in WAYS:
        exact(harness, way)


def unseen(harness, args, **env):
    """What was not seen is known, and said wherever the job is told of."""
    c, told, said, log = fio(harness, args, **env)
    ops = told["READS"] + told["WRITES"]
    must(0 < c["PROCESS_URING_MISSED"] and c["PROCESS_URING_OPS"] + c["PROCESS_URING_MISSED"] == ops,
         "%s seen, %s missed of %d", c["PROCESS_URING_OPS"], c["PROCESS_URING_MISSED"], ops)  # fmt: skip
    must("%d operations of io_uring" % c["PROCESS_URING_MISSED"] in said, "run does not say it: %s", said)
    report = subprocess.run([harness.iorama, "report", log], capture_output=True, text=True, timeout=TIMEOUT).stdout
    must("operations of io_uring were not seen" in report and "Nothing to gain" not in report + said,
         "the report does not say it: %s", report[:2000])  # fmt: skip
    words = [harness.iorama, "report", "--json", log]
    found = json.loads(subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT).stdout)
    must(found["complete"] is False, "said to be complete")


def case_sqpoll(harness):
    """A thread of the kernel takes requests without any call."""
    unseen(harness, ["--iodepth=32", "--sqthread_poll=1"])


def case_unchanged(harness):
    """IORAMA_PROBE=0: the program enters the kernel by itself."""
    unseen(harness, ["--iodepth=16"], IORAMA_PROBE="0")


SCRIPT = """
const fs = require('fs').promises;
(async () => {
  let bytes = 0;
  const b = Buffer.alloc(1000);
  for (let i = 0; i < 500; i++) {
    const h = await fs.open(process.argv[2], 'r');
    bytes += (await h.read(b, 0, 1000, i * 100)).bytesRead;
    await h.close();
  }
  console.log(bytes);
})();
"""


def case_node(harness):
    """libuv: a ring without calls, looked at where it waits."""
    node = shutil.which("node")
    if not node:
        raise Skip("node is not installed")
    script = os.path.join(harness.quiet, "read.js")
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    log, said, out = observe(harness, [node, script, "@"], "read", UV_USE_IO_URING="1")
    c = sums(log, "/read")
    if c["PROCESS_URING_OPS"] + c["PROCESS_URING_MISSED"] == 0:
        raise Skip("this node does not use io_uring")
    must(c["POSIX_OPENS"] == 500 and c["POSIX_READS"] == 500, "%d opens, %d reads", c["POSIX_OPENS"], c["POSIX_READS"])
    must(c["POSIX_BYTES_READ"] == int(out.split()[0]) == 500000, "%d bytes", c["POSIX_BYTES_READ"])
    must(c["PROCESS_URING_MISSED"] == 0, "%d missed: %s", c["PROCESS_URING_MISSED"], said)


CASES = {"uring-fio": case_fio, "uring-sqpoll": case_sqpoll, "uring-unchanged": case_unchanged, "uring-node": case_node}

if __name__ == "__main__":
    main(CASES)
