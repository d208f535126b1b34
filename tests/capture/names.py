#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""names.py BUILD [CASE...]: our libraries and the names of others meet in one program. What our archives and libraries show
is ours by its prefix, or a function that we replace. And programs that define every name that our code uses inside, as
functions and as variables, shown to all libraries, are linked with and observed by each of them: nothing collides, none of
their functions is called, none of their variables written, and results are what they always are."""
import glob
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, TIMEOUT, Comparison, Failed, Skip  # noqa: E402
from manners import main, must  # noqa: E402

CALLED, WRITTEN = 98, 97
OURS = re.compile(r"(rama_|iorama_|RAMA_|IORAMA_)")
SANITIZER = "__tsan_default_suppressions"  # its name is not ours to choose
# what people call things, whether we use it today or not
COMMON = """log_open log_close log_write job_add job_get map_put map_get map_new grow now out_text out_bytes reduce emit init
fini start stop finish begin append push pop add drop find lookup insert hash table buffer file_open file_read file_write
parse read_all write_all copy move run flush emit_event record event events counters total state ctx context config settings
options verbose debug error fail warn die panic usage arena_alloc pool list_add queue_push ring_push plan pattern match take
thread_start lock unlock timer clock_now say tell note put get next prev segment rank nprocs comm io stats xmalloc""".split()

NAMES_C = """\
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static void __attribute__((noreturn, unused)) end(const char *what, const char *name, int status)
{
	(void)!write(2, what, strlen(what));
	(void)!write(2, name, strlen(name));
	(void)!write(2, "\\n", 1);
	_exit(status);
}
#define NAME(x) %s
#include "names.def"
#undef NAME
%s
"""
AS_FUNCTIONS = ('void x(void) { end("called: ", #x, %d); }' % CALLED, "")
AS_VARIABLES = (
    "unsigned long x[2] = { 0x5ca1ab1e, 0xdecade };",
    """static const struct variable { const char *name; const unsigned long *at; } all[] = {
#define NAME(x) { #x, x },
#include "names.def"
};
static void __attribute__((destructor)) look(void)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].at[0] != 0x5ca1ab1e || all[i].at[1] != 0xdecade)
			end("written: ", all[i].name, %d);
}"""
    % WRITTEN,
)


def symbols(paths, *options):
    """(file, name) of all that have a place in these files"""
    done = subprocess.run(["nm", "-A", *options, *paths], capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode != 0:
        raise Failed("nm: %s" % done.stderr[-500:])
    return re.findall(r"^(.*):[0-9a-f]+ [A-Za-z] ([^\s@]+)", done.stdout, re.M)


def plain_build(h):
    """Sanitizers bring names of their own, and programs of users are built without them."""
    with open(os.path.join(h.build, "CMakeCache.txt"), encoding="utf-8") as file:
        if re.search(r"^IORAMA_(SANITIZE:\w+=\w|COVERAGE:\w+=(ON|1))", file.read(), re.M):
            raise Skip("built with sanitizers or coverage")


def archives(h):
    """All code that gets into programs of others, before the linker hides any of it."""
    inner = [os.path.join(h.build, name) for name in ("lib/libiorama-log.a", "libiorama_inner.a")]
    h.need(*inner)
    objects = [
        path
        for target in ("iorama_preload", "iorama_static_parts", "iorama_static_libaio")
        for path in glob.glob(os.path.join(h.build, "CMakeFiles", target + ".dir", "**", "*.o"), recursive=True)
    ]
    if not objects:
        raise Skip("objects of capture are not where they are expected")
    return inner + objects


def replaced():
    """Functions that wrappers stand in front of: rows of the tables."""
    names = set()
    for path in glob.glob(os.path.join(ROOT, "src", "table", "fn_*.def")):
        with open(path, encoding="utf-8") as file:
            names |= set(re.findall(r"^FN[A-Z0-9_]* *\(\s*(\w+)", file.read(), re.M))
    names.add("dlclose")  # capture/sites.c: it is no call on files
    must("write" in names and "MPI_File_open" in names, "the tables of functions cannot be read")
    return names


def is_wrapper(name, rows):
    return name in rows or name.startswith("ncmpi_") or (name.startswith("PMPI_") and name[1:] in rows)


def check_shown(h):
    plain_build(h)
    rows = replaced()
    shown = {
        "libiorama.a": lambda n: OURS.match(n) or (n.startswith("__wrap_") and n[7:] in rows),
        "libiorama.so": lambda n: is_wrapper(n, rows) or n in ("iorama_attach", "iorama_detach", "iorama_probe", "iorama_probes",
                                                                       "iorama_phase_begin", "iorama_phase_end", SANITIZER),
        "libiorama-log.a": OURS.match,
        "libiorama-log.so": lambda n: n.startswith(("iorama_", "IORAMA_LOG_")),
    }
    for name, allowed in shown.items():
        path = os.path.join(h.build, "lib", name)
        h.need(path)
        options = ("-D", "--defined-only") if name.endswith(".so") else ("-g", "--defined-only")
        found = {n for _, n in symbols([path], *options)}
        must(len(found) > 20, "nm finds %d names in %s", len(found), name)
        strange = sorted(n for n in found if not allowed(n))
        must(not strange, "%s shows %s", name, " ".join(strange[:20]))
    # inside they are hidden, or made local; but only a prefix or `static` keeps them apart for good
    for path, name in symbols(archives(h), "-g", "--defined-only"):
        wrapper = "iorama_preload.dir" in path or "iorama_static" in path
        ours = OURS.match(name) or (wrapper and is_wrapper(name.removeprefix("__wrap_"), rows))
        must(ours or name in HEAP or name == SANITIZER, "%s: %s is neither static nor ours by its name", path, name)


# capture has its own heap, so that it never asks that of the application
HEAP = {"__wrap_malloc", "__wrap_calloc", "__wrap_realloc", "__wrap_free"}


def library_names(h):
    """What libraries that are linked besides define: nobody may define that again."""
    names = {"main"}
    for word in "libc.so.6 libm.so.6 libc.a libm.a libpthread.a libdl.a libz.so libbz2.so libdeflate.so".split():
        done = subprocess.run([h.cc, "-print-file-name=" + word], capture_output=True, text=True, timeout=TIMEOUT)
        path = done.stdout.strip()
        if not os.path.isabs(path):
            continue
        with open(path, "rb") as file:
            magic = file.read(8)
        if magic[:4] == b"\x7fELF":
            names |= {n for _, n in symbols([path], "-D", "--defined-only")}
        elif magic == b"!<arch>\n":
            names |= {n for _, n in symbols([path], "-g", "--defined-only")}
    must("printf" in names, "the names of the C library are not known")
    return names


def inner_names(h):
    """Every name that our code has for something inside, with and without the prefix."""
    names = set(COMMON)
    for _, name in symbols(archives(h)):
        names.add(name.removeprefix("__wrap_"))
        bare = re.match(r"i?orama_|rama_(?:[a-z]+_)?(?=[a-z])", name)
        if bare:
            names |= {name[bare.end() :], name.removeprefix("rama_")}
    taken = library_names(h) | replaced()
    return sorted(n for n in names if re.fullmatch(r"[A-Za-z]\w*", n) and not OURS.match(n) and n not in taken and n not in MACROS
                  and not n.startswith(("truth_", "MPI_", "PMPI_", "ncmpi_", "H5")))  # fmt: skip


# words of the language and of names.c
MACROS = set("""auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof
unix linux NULL look end all""".split())


def names_object(h, kind):
    folder = os.path.join(h.scratch, "names-" + kind)
    os.makedirs(folder, exist_ok=True)
    names = inner_names(h)
    must(len(names) > 1000 and {"log_open", "job_add", "map_put", "grow", "emit"} <= set(names), "only %d names", len(names))
    with open(os.path.join(folder, "names.def"), "w", encoding="ascii") as file:
        file.writelines("NAME(%s)\n" % name for name in names)
    body = AS_FUNCTIONS if kind == "functions" else AS_VARIABLES
    with open(os.path.join(folder, "names.c"), "w", encoding="ascii") as file:
        file.write(NAMES_C % body)
    target = os.path.join(folder, "names.o")
    command = [h.cc, "-std=gnu17", "-O0", "-w", "-fno-builtin", "-c", folder + "/names.c", "-o", target]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    must(done.returncode == 0, "names.c: %s", done.stderr[-2000:])
    return target


def check_run(run, mode):
    words = run.err.decode(errors="replace")
    must(run.status not in (CALLED, WRITTEN), "%s: our code used what is the program's: %s", mode, words[-200:])
    must(run.status == 0, "%s: status %s: %s", mode, run.status, words[-500:])


def observed(h, kind):
    names = names_object(h, kind)
    for program, arguments in (("readwrite", []), ("stream", []), ("threads", ["many"])):
        for mode in ("plain", "bare", "trace", "run", "static"):
            variant = "names-%s-%d" % (mode, os.getpid())
            flags, libs = ["-rdynamic"], [names]
            if mode == "static":
                flags, libs = ["-static"], [names, *h.static_flags()]
            built = h.compile(program, variant, flags, libs)
            try:
                run = h.start([built, *arguments], mode)
            finally:
                os.remove(built)
            check_run(run, mode)
            if mode != "plain":
                problems = Comparison(h, run, mode).all()
                must(not problems, "%s %s: %s", program, mode, "\n".join(problems))


def with_api(h, kind):
    """The examples write and read a log; all of the archive is linked, also what they do not use."""
    plain_build(h)
    names = names_object(h, kind)
    lib = os.path.join(h.build, "lib")
    static = ["-Wl,--whole-archive", lib + "/libiorama-log.a", "-Wl,--no-whole-archive", "-lz", "-lbz2", "-ldeflate", "-lm"]
    said = []
    for way, libs in (("static", static), ("shared", ["-L" + lib, "-liorama-log", "-Wl,-rpath," + lib])):
        for program in ("writelog", "bytes"):
            command = [h.cc, "-std=gnu17", "-rdynamic", "-I", ROOT + "/include", "%s/examples/%s.c" % (ROOT, program), names,
                       "-o", "%s/%s-%s" % (h.scratch, program, way), *libs, "-pthread"]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
            must(done.returncode == 0, "%s, %s: does not link: %s", program, way, done.stderr[-2000:])
        log = "%s/%s.darshan" % (h.scratch, way)
        for command in (["writelog-" + way, log], ["bytes-" + way, log]):
            command[0] = os.path.join(h.scratch, command[0])
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
            must(done.returncode == 0, "%s: status %d: %s", command[0], done.returncode, done.stderr[-300:])
        said.append(done.stdout)
    must("./galaxy --steps 3 on 4 processes" in said[0] and "9025536 /scratch/astro/checkpoint.h5" in said[0], "%s", said[0])
    must(said[0] == said[1], "static and shared differ:\n%s\n%s", *said)


CASES = {"names-shown": check_shown}
for _kind in ("functions", "variables"):
    CASES["names-observed-" + _kind] = lambda h, kind=_kind: observed(h, kind)
    CASES["names-api-" + _kind] = lambda h, kind=_kind: with_api(h, kind)

if __name__ == "__main__":
    main(CASES)
