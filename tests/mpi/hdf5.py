#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hdf5.py BUILD CASE: programs that know what they do with HDF5, observed with `iorama run`; what the log says of
their files and datasets must be that. A CASE is hdf5-LIBRARY-NAME; --list prints all."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
from job import Failed, Skip, cases, run  # noqa: E402

LIBRARIES = ("serial", "openmpi", "mpich")
TRUTHS = ("files", "datasets", "ways", "references", "many", "errors", "leaks", "forked")
# what the truth says completely: counters that it does not name are 0
ASIDE = re.compile(r"_F_|_TIME_SIZE$|(FASTEST|SLOWEST)_RANK|FILE_REC_ID$")
# what depends on more than the sums, where two processes share a record
OF_ONE = re.compile(r"_ACCESS\d|RW_SWITCHES|DATASPACE|DATATYPE|CHUNK|STRIDE|DEPRECATED|USE_")


def command(words):
    if not shutil.which(words[0]):
        raise Skip("%s is not installed" % words[0])
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed("%s: %s" % (" ".join(words), done.stderr))
    return done.stdout


def compiler(library):
    return os.environ.get("CC", "cc") if library == "serial" else "mpicc." + library


def flags(library):
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "hdf5-" + library], capture_output=True, text=True)
    if found.returncode != 0:
        raise Skip("hdf5-%s is not installed" % library)
    return found.stdout.split()


def build(library, folder, source, out, *options):
    path = os.path.join(folder, out)
    source = os.path.join(HERE, source)
    command([compiler(library), "-O1", "-Wall", "-Wextra", *options, source, "-o", path, *flags(library)])
    return path


# ---- comparing


def read_truth(path):
    wanted = collections.defaultdict(dict)
    with open(path, encoding="utf-8") as file:
        for line in file:
            _, module, name, counter, value = line.split()
            wanted[module, name][counter] = int(value)
    return wanted


def read_log(iorama, log):
    done = subprocess.run([iorama, "show", "--quiet", "--json", log], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed("show: %s" % done.stderr)
    found = json.loads(done.stdout)["logs"][0]
    return {m["module"]: m["records"] for m in found["modules"]}


def compare(wanted, modules):
    wrong = []
    seen = collections.defaultdict(list)
    for module in ("H5F", "H5D"):
        for record in modules.get(module, []):
            seen[module, record["name"]].append(record)
    ids = {name: records[0]["id"] for (module, name), records in seen.items() if module == "H5F"}
    for key in sorted(set(wanted) | set(seen)):
        if key not in wanted or key not in seen:
            wrong.append("%s %s: %s" % (*key, "not wanted" if key in seen else "missing"))
            continue
        records = seen[key]
        for counter in records[0]["counters"]:
            if ASIDE.search(counter) or (len(records) > 1 and OF_ONE.search(counter)):
                continue
            have = sum(int(record["counters"][counter]) for record in records)
            # shapes of accesses are unknown where counters of selections are
            unknown = wanted[key].get("H5D_REGULAR_HYPERSLAB_SELECTS") == -1 and re.search("_ACCESS", counter)
            shape = re.search(r"ACCESS\d_(LENGTH|STRIDE)", counter) and "%s_ACCESS" % counter[:11] not in wanted[key]
            named = any(name.startswith("H5D_ACCESS") for name in wanted[key])
            if unknown or shape or ("_ACCESS" in counter and not named):
                continue
            if have != wanted[key].get(counter, 0):
                wrong.append("%s %s: %s is %d, not %d" % (*key, counter, have, wanted[key].get(counter, 0)))
        if key[0] == "H5D" and str(records[0]["counters"]["H5D_FILE_REC_ID"]) != str(ids.get(key[1].split(":")[0])):
            wrong.append("%s: not of the record of its file" % key[1])
    return wrong


def observe(case, *words, **extra):
    iorama, folder = case
    truth, log = os.path.join(folder, "truth"), os.path.join(folder, "log.darshan")
    data = os.path.join(folder, "data")
    os.makedirs(data, exist_ok=True)
    plain = run(words, data, TRUTH_FILE=os.path.join(folder, "unused"), **extra)
    if plain.returncode != 0:
        raise Failed("not observed: status %d: %s" % (plain.returncode, plain.stderr))
    done = run([iorama, "run", "-q", "-f", "-o", log, *words], data, TRUTH_FILE=truth,
               IORAMA_DIR=os.path.join(folder, "segments"), **extra)  # fmt: skip
    if (done.returncode, done.stdout, done.stderr) != (plain.returncode, plain.stdout, plain.stderr):
        raise Failed("status %d: %s%s" % (done.returncode, done.stdout, done.stderr))
    wanted = read_truth(truth)
    if not wanted:
        raise Failed("nothing to compare")
    return compare(wanted, read_log(iorama, log))


# ---- cases


def check_rows(case, library):
    rows = build(library, case[1], "hdf5_rows.c", "rows", "-I", os.path.join(ROOT, "src"), "-std=gnu17")
    print(command([rows]).strip())
    return []


def check_wrong_rows(case, library):
    """Rows that differ from the header must not compile."""
    table = os.path.join(case[1], "table")
    shutil.copytree(os.path.join(ROOT, "src", "table"), table)
    path = os.path.join(table, "fn_hdf5.def")
    with open(path, encoding="utf-8") as file:
        rows = file.read()
    wrong = []
    changes = (("(unsigned, flags, NONE)", "(long, flags, NONE)"), ("(H5Fclose, int, NONE", "(H5Fclose, rama_cap_hid, HID"),
               ("(rama_cap_hid, dset, HID)", "(int, dset, HID)"))  # fmt: skip
    for old, new in changes:
        with open(path, "w", encoding="utf-8") as file:
            file.write(rows.replace(old, new))
        try:
            build(library, case[1], "hdf5_rows.c", "rows", "-I", case[1], "-std=gnu17")
            wrong.append("compiles with %s" % new)
        except Failed as error:
            if "has another" not in str(error) and "returns another" not in str(error):
                raise
    return wrong


def check_truth(case, library, name):
    return observe(case, build(library, case[1], "hdf5.c", "app"), name)


def check_two(case, main):
    """Each of two modules has its own HDF5. `main`: the program has one of the two, in sight of all."""
    program = os.path.join(case[1], "two")
    linked = ["-Wl,--no-as-needed", *flags("serial")] if main else []
    command([compiler("serial"), "-O1", "-Wall", "-Wextra", os.path.join(HERE, "hdf5_two.c"), "-o", program, "-ldl",
             *linked])  # fmt: skip
    plugins = [build(library, case[1], "hdf5.c", "lib%s.so" % library, "-DPLUGIN", "-shared", "-fPIC",
                     "-Wno-unused-function") for library in ("openmpi", "serial")]  # fmt: skip
    return observe(case, program, *plugins)


def build_fake(case, version, out, *options):
    """A program or plugin, and the HDF5 that it uses."""
    cc, source = compiler("serial"), os.path.join(HERE, "hdf5_fake.c")
    library, out = (os.path.join(case[1], name) for name in ("libhdf5-%s.so" % version, out))
    common = [cc, "-O1", "-Wall", "-Wextra", "-DVERSION=" + version, source]
    command([*common, "-shared", "-fPIC", "-o", library])
    command([*common, *options, "-o", out, library, "-Wl,-rpath," + case[1]])
    return out


def check_fake(case, version):
    wrong = observe(case, build_fake(case, version, "fake", "-DPROGRAM"))
    # calls of metadata take 20 ms each: two are of the file, one is of the dataset; one of 200 ms fails and is not counted
    for module, least in (("H5F", 0.04), ("H5D", 0.02)):
        (record,) = read_log(case[0], os.path.join(case[1], "log.darshan"))[module]
        counters = record["counters"]
        time = counters[module + "_F_META_TIME"]
        if not least <= time:
            wrong.append("%s: %s s of metadata, not %s" % (module, time, least))
        if module == "H5F" and counters["H5F_F_CLOSE_END_TIMESTAMP"] - counters["H5F_F_OPEN_START_TIMESTAMP"] < time + 0.2:
            wrong.append("%s: %s s of metadata include what failed" % (module, time))
    return wrong


def check_fake_modules(case):
    """As modules of Python do it: each brings an HDF5 of its own, without versions of symbols."""
    program = os.path.join(case[1], "two")
    command([compiler("serial"), "-O1", "-Wall", "-Wextra", os.path.join(HERE, "hdf5_two.c"), "-o", program, "-ldl"])
    plugins = [build_fake(case, version, "plugin%s.so" % version, "-DPLUGIN", "-shared", "-fPIC")
               for version in ("8", "14")]  # fmt: skip
    return observe(case, program, *plugins)


CASES = {}
for one in LIBRARIES:
    CASES["hdf5-%s-rows" % one] = (check_rows, one)
    CASES["hdf5-%s-datasets" % one] = (check_truth, one, "datasets")
for one in TRUTHS:
    CASES["hdf5-serial-" + one] = (check_truth, "serial", one)
CASES["hdf5-serial-wrong-rows"] = (check_wrong_rows, "serial")
CASES["hdf5-two-modules"] = (check_two, False)
CASES["hdf5-two-main"] = (check_two, True)
for one in ("8", "14"):
    CASES["hdf5-fake-" + one] = (check_fake, one)
CASES["hdf5-fake-modules"] = (check_fake_modules,)


def perform(build, name):
    with cases.folders(build, "hdf5") as (folder, _):
        check, *arguments = CASES[name]
        return check((cases.Built(build).iorama, folder), *arguments)


if __name__ == "__main__":
    cases.main(CASES, perform)
