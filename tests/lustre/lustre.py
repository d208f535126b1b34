#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lustre.py BUILD LIBRARY: layouts of files, from the attribute to the log, without Lustre: LIBRARY takes the file system
of the build folder for one, and finds layouts in the attribute user.layout. The real library asks nothing here."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77
HERE = os.path.dirname(os.path.abspath(__file__))


def plain(stripe_size, osts, pool=None, pattern=1):
    """a layout of version 1, or of version 3 if it has a pool"""
    head = struct.pack("<II16xIHH", 0x0BD30BD0 if pool else 0x0BD10BD0, pattern, stripe_size, len(osts), 0)
    head += pool.encode().ljust(16, b"\0") if pool else b""
    return head + b"".join(struct.pack("<16xII", 0, ost) for ost in osts)


def composite(*components):
    """(start, end, flags, mirror, layout) of each"""
    entries, layouts, at = b"", b"", 32 + 48 * len(components)
    for number, (start, end, flags, mirror, layout) in enumerate(components, 1):
        entries += struct.pack("<IIQQII16x", mirror << 16 | number, flags, start, end, at, len(layout))
        layouts += layout
        at += len(layout)
    return struct.pack("<IIIHH16x", 0x0BD60BD0, at, 1, 0, len(components)) + entries + layouts


INIT = 0x10
END = 2**64 - 1
NO_POOL = "N/A"
PLAIN = plain(1 << 20, [4, 7, 1])
LAYOUTS = {
    "plain": PLAIN,
    "stream": plain(4 << 20, [2], pool="flash"),
    "range": composite((0, 1 << 20, INIT, 0, plain(65536, [5])), (1 << 20, END, INIT, 0, plain(1 << 20, [6, 8])),
                       (0, END, 0, 1, plain(1 << 20, []))),
    "grown": plain(65536, [9]),
    "garbage": b"what is this",
}  # fmt: skip
# name -> (stripe size, stripes, extent, pool) of each component, OSTs
TRUTH = {
    "plain": ([(1 << 20, 3, 0, -1, NO_POOL)], [4, 7, 1]),
    "stream": ([(4 << 20, 1, 0, -1, "flash")], [2]),
    "range": ([(65536, 1, 0, 1 << 20, NO_POOL), (1 << 20, 2, 1 << 20, -1, NO_POOL)], [5, 6, 8]),
    "grown": ([(1 << 20, 3, 0, -1, NO_POOL)], [4, 7, 1]),
}


def records(iorama, log):
    """name -> counter -> value, of the text that the command prints"""
    done = subprocess.run([iorama, "show", "--base", log], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("show: " + done.stderr)
    found = {}
    for line in done.stdout.splitlines():
        words = line.split("\t")
        if words[0] == "LUSTRE":
            found.setdefault(os.path.basename(words[5]), {})[words[3]] = words[4]
    return found


def as_truth(record):
    components = []
    while "LUSTRE_COMP%d_STRIPE_SIZE" % (len(components) + 1) in record:
        of = "LUSTRE_COMP%d_" % (len(components) + 1)
        names = ("STRIPE_SIZE", "STRIPE_COUNT", "EXT_START", "EXT_END")
        components.append((*(int(record[of + name]) for name in names), record[of + "POOL_NAME"]))
    osts = [int(v) for k, v in sorted(record.items(), key=lambda i: i[0].zfill(40)) if "OST_ID" in k]
    return components, osts


def prepare(folder):
    data = os.path.join(folder, "data")
    os.mkdir(data)
    for name in [*LAYOUTS, "nothing"]:
        path = os.path.join(data, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("x")
        if name in LAYOUTS:
            try:
                os.setxattr(path, "user.layout", LAYOUTS[name])
            except OSError as error:
                print("SKIP: no attributes here: %s" % error)
                sys.exit(SKIPPED)
    return data


def check(build, library, folder):
    iorama = os.path.join(build, "bin", "iorama")
    program, log = os.path.join(folder, "close"), os.path.join(folder, "log.darshan")
    done = subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", program, os.path.join(HERE, "close.c")])
    if done.returncode != 0:
        return ["close.c does not compile"]
    wrong = []
    run = [iorama, "run", "-q", "-f", "-o", log]
    data = prepare(folder)
    done = subprocess.run([*run, "--library", library, program, data])
    if done.returncode != 0:
        return ["close ends with %d" % done.returncode]
    found = {name: as_truth(record) for name, record in records(iorama, log).items()}
    for name in sorted(set(found) | set(TRUTH)):
        if found.get(name) != TRUTH.get(name):
            wrong.append("%s is %s, not %s" % (name, found.get(name), TRUTH.get(name)))
    # the real library
    calls = os.path.join(folder, "calls")
    strace = ["strace", "-f", "-e", "trace=fgetxattr", "-o", calls] if shutil.which("strace") else []
    done = subprocess.run([*run, *strace, program, data])
    if done.returncode != 0 or records(iorama, log):
        wrong.append("without Lustre: status %d, %s" % (done.returncode, records(iorama, log)))
    if strace and os.path.exists(calls):
        with open(calls, encoding="utf-8") as file:
            wrong += ["without Lustre: " + line.strip() for line in file if "fgetxattr(" in line]
    return wrong


def main():
    build, library = (os.path.abspath(path) for path in sys.argv[1:3])
    os.makedirs(os.path.join(build, "tests"), exist_ok=True)
    folder = os.path.realpath(tempfile.mkdtemp(prefix="lustre-", dir=os.path.join(build, "tests")))
    try:
        wrong = check(build, library, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(wrong) or "ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
