#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""package.py BUILD [CASE…]: packages made of a build, what they leave in a system, and the parts for sites.

deb installs the Debian packages into a copy of this system that lies over it and forgets all (overlayfs); with IORAMA_TEST_LONG=1
they are compiled anew and installed by apt into a bare Debian that debootstrap makes. rpm installs into an empty root."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
import cases  # noqa: E402
from cases import ROOT, Skip, expect, need  # noqa: E402

LONG = os.environ.get("IORAMA_TEST_LONG") == "1"
PACKAGES = ("iorama", "libiorama", "libiorama-dev", "iorama-doc", "python3-iorama")
PATHS = "/usr/sbin:/usr/bin:/sbin:/bin"


def run(command, status=0, **more):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          **more)  # fmt: skip
    expect(done.returncode == status, "%s: status %d: %s", " ".join(command), done.returncode, done.stdout[-3000:])
    return done.stdout


def package(kind, build, folder, **env):
    """Packages of this kind, of this build or, if there is time for it, compiled anew."""
    own = ["--built", build] if not LONG else []
    run([os.path.join(ROOT, "tools", "package"), kind, "--into", folder] + own, env=dict(os.environ, **env))
    return sorted(os.listdir(folder))


class System:
    """A system to install into: this one, under a layer that takes all changes, or a bare one."""

    def __init__(self, folder):
        self.root, self.top = os.path.join(folder, "root"), os.path.join(folder, "top")
        if os.geteuid() != 0:
            raise Skip("only root may install")
        for name in (self.root, self.top, os.path.join(folder, "work")):
            os.mkdir(name)
        self.mounted = []
        if LONG:
            need("debootstrap")
            run(["debootstrap", "--variant=minbase", "--include=ca-certificates,python3,man-db,bash-completion,curl", "bookworm", self.root])
        else:
            self.mount("-t", "overlay", "none", "-o", "lowerdir=/,upperdir=%s,workdir=%s" % (self.top, os.path.join(folder, "work")), self.root)
        for place in ("proc", "dev"):
            self.mount("--bind", "/" + place, os.path.join(self.root, place))
        self.mount("-t", "tmpfs", "none", os.path.join(self.root, "tmp"))

    def mount(self, *words):
        done = subprocess.run(["mount"] + list(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            self.close()
            raise Skip("a layer over this system cannot be had: " + done.stdout.strip())
        self.mounted.append(words[-1])

    def close(self):
        while self.mounted:
            subprocess.run(["umount", "-l", self.mounted.pop()], check=False)

    def do(self, text, status=0):
        env = {"PATH": PATHS, "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        return run(["chroot", self.root, "sh", "-c", text], status, env=env)

    def files(self):
        """All that is there, but for what changes by itself."""
        where = self.root if LONG else self.top
        found = set()
        for at, folders, names in os.walk(where):
            if at == where:
                folders[:] = [f for f in folders if f not in ("proc", "dev", "tmp", "sys")]
            found.update(os.path.relpath(os.path.join(at, n), where) for n in folders + names)
        return {f for f in found if "iorama" in f and not f.startswith("var/cache/man/")}  # pages that man rendered


def deb(build):
    need("dpkg-buildpackage", "dh", "lintian")
    with tempfile.TemporaryDirectory(prefix="iorama-package-") as folder:
        made = package("deb", build, os.path.join(folder, "debs"), PACKAGE_BUILD="binary")
        python = os.path.isdir(os.path.join(ROOT, "python", "iorama"))
        wanted = [p for p in PACKAGES if python or not p.startswith("python3-")]
        debs = sorted(m.split("_")[0] for m in made if m.endswith(".deb") and "dbgsym" not in m)
        expect(debs == sorted(wanted), "made: %s", made)
        package("deb", build, os.path.join(folder, "source"), PACKAGE_BUILD="source")
        changes = glob.glob(folder + "/debs/*.changes") + glob.glob(folder + "/source/*_source.changes")
        expect(len(changes) == 2, "what was made: %s", changes)
        told = run(["lintian", "--allow-root", "--tag-display-limit", "0", *changes])
        expect(told.strip() == "", "lintian: %s", told)
        system = System(folder)
        try:
            in_system(system, folder, python)
        finally:
            system.close()


def in_system(system, folder, python):
    before = system.files()
    for path in glob.glob(folder + "/debs/*.deb"):
        shutil.copy(path, system.root + "/tmp")
    system.do("cd /tmp && " + ("apt-get install -y --no-install-recommends ./*.deb" if LONG else "dpkg --path-include='/usr/share/doc/*' -i ./*.deb"))
    system.do("iorama doctor -q || test $? = 4")
    # dd is the truth
    system.do("mkdir /w && cd /w && iorama run -q -o j.darshan dd if=/dev/zero of=out bs=1000 count=3 status=none && cp j.darshan /srv")
    told = system.do("cd /w && iorama show -m POSIX -c POSIX_BYTES_WRITTEN --file='*/out' j.darshan")
    expect(re.search(r"POSIX_BYTES_WRITTEN\s+3000\s", told), "the log: %s", told)
    expect("dd" in system.do("iorama report /w/j.darshan").splitlines()[0], "no report")
    system.do("iorama index -q --store /w/s.db /w/j.darshan")
    serves(system)
    for page in ("iorama", "iorama-report", "iorama-serve", "iorama-cc"):
        expect(len(system.do("MANWIDTH=80 man %s | cat" % page)) > 300, "man %s", page)
    words = system.do("bash -c '. /usr/share/bash-completion/completions/iorama; COMP_WORDS=(iorama rep); COMP_CWORD=1; COMP_LINE=\"iorama rep\"; "
                      "COMP_POINT=10; $(complete -p iorama | sed \"s/.*-F \\([^ ]*\\).*/\\1/\") iorama rep iorama; echo ${COMPREPLY[@]}'")  # fmt: skip
    expect("report" in words.split(), "completion: %s", words)
    expect("start.md" in system.do("ls /usr/share/doc/iorama/docs"), "no documents")  # dh compresses those that are long
    if not LONG:  # a bare system has no compiler, and systemd only where it boots
        system.do("systemd-analyze verify /lib/systemd/system/iorama-*.service /lib/systemd/system/iorama-*.timer")
        system.do("XDG_RUNTIME_DIR=/tmp systemd-analyze --user verify /usr/lib/systemd/user/iorama-*.service")
        expect("enabled" not in system.do("find /etc/systemd -name 'iorama*'; true"), "a unit is enabled")
        system.do("printf '#include <iorama/log.h>\\nint main(void){return iorama_log_version() == 0;}' >/w/p.c; cd /w; "
                  "grep -q iorama_log_version /usr/include/iorama/*.h || sed -i 's/return .*;/return 0;/' p.c; "
                  "iorama-cc p.c -o p $(pkg-config --cflags --libs iorama-log) && ./p")  # fmt: skip
    system.do("iorama config --check /etc/iorama.conf")
    if python:
        system.do("cd / && python3 -c 'import iorama; print(iorama)'")
    system.do("rm -rf /w /srv/j.darshan /root/.local/share/iorama /root/.local/state/iorama; dpkg --purge " + " ".join(
        p for p in PACKAGES if python or not p.startswith("python3-")))  # fmt: skip
    left = {f for f in system.files() - before if not is_whiteout(system, f)}
    expect(not left, "left behind: %s", sorted(left)[:20])


def is_whiteout(system, path):
    """How a layer says that something below it is gone; and what a folder that is new here hides."""
    full = os.path.join(system.root if LONG else system.top, path)
    status = os.lstat(full)
    return not os.path.lexists(os.path.join(system.root, path)) or status.st_rdev == 0 and not os.path.isdir(full) and os.path.lexists("/" + path)


def serves(system):
    system.do("cd /w && { iorama serve --quiet --store s.db --listen 127.0.0.1:0 --token /w/token >address 2>&1 & } ; server=$!; "
              "for i in $(seq 100); do grep -q http address && break; sleep 0.1; done; "
              "url=$(grep -o 'http://[^/ ]*' address | head -n 1); "
              "python3 -c \"import urllib.request, sys; print(urllib.request.urlopen(sys.argv[1] + '/').status)\" $url >status; "
              "kill $server; wait $server; grep -q 200 status || { cat address status; exit 1; }")  # fmt: skip


def rpm(build):
    need("rpmbuild", "rpm")
    with tempfile.TemporaryDirectory(prefix="iorama-package-") as folder:
        made = [os.path.join(folder, "rpms", m) for m in package("rpm", build, os.path.join(folder, "rpms"))]
        names = run(["rpm", "-qp", "--qf", "%{NAME}\n"] + made).split()
        expect({"iorama", "iorama-libs", "iorama-devel", "iorama-doc"} <= set(names), "made: %s", names)
        root = os.path.join(folder, "root")
        os.mkdir(root)
        run(["rpm", "--root", root, "--initdb"])
        run(["rpm", "--root", root, "-i", "--nodeps", "--noscripts", "--ignorearch"] + made)
        program = os.path.join(root, "usr/bin/iorama")
        work = os.path.join(folder, "work")
        os.mkdir(work)
        run([program, "run", "-q", "-o", work + "/j.darshan", "dd", "if=/dev/zero", "of=%s/out" % work, "bs=1000", "count=3", "status=none"],
            env=cases.environment(IORAMA_DIR=work))  # fmt: skip
        told = run([program, "show", "-m", "POSIX", "-c", "POSIX_BYTES_WRITTEN", "--file=*/out", work + "/j.darshan"])
        expect(re.search(r"POSIX_BYTES_WRITTEN\s+3000\s", told), "the log: %s", told)
        for name in ("usr/share/man/man1/iorama.1*", "usr/share/bash-completion/completions/iorama", "usr/lib/systemd/system/iorama-agent.service",
                     "usr/share/doc/iorama*/docs/start.md", "etc/iorama.conf", "usr/include/iorama/log.h"):  # fmt: skip
            expect(glob.glob(os.path.join(root, name)), "no %s", name)
        run(["rpm", "--root", root, "-e", "--nodeps", "--noscripts"] + names)
        left = [f for at, _, names in os.walk(root) for f in (os.path.join(at, n) for n in names) if "iorama" in os.path.relpath(f, root)]
        expect(not left, "left behind: %s", left)


def tar(build):
    need("cpack")
    with tempfile.TemporaryDirectory(prefix="iorama-package-") as folder:
        made = package("tar", build, os.path.join(folder, "tars"))
        expect(len(made) == 1 and made[0].endswith(".tar.gz"), "made: %s", made)
        run(["tar", "-C", folder, "-xf", os.path.join(folder, "tars", made[0])])
        top = os.path.join(folder, made[0][: -len(".tar.gz")])
        env = cases.environment(IORAMA_DIR=folder, PATH=top + "/bin:" + os.environ["PATH"])
        run(["iorama", "run", "-q", "-o", folder + "/j.darshan", "dd", "if=/dev/zero", "of=%s/out" % folder, "bs=1000", "count=3", "status=none"],
            env=env)  # fmt: skip
        told = run(["iorama", "show", "-m", "POSIX", "-c", "POSIX_BYTES_WRITTEN", "--file=*/out", folder + "/j.darshan"], env=env)
        expect(re.search(r"POSIX_BYTES_WRITTEN\s+3000\s", told), "the log: %s", told)
        if LONG:
            needs = run(["sh", "-c", "ldd %s/bin/iorama | sed 's/ .*//' | tr -d '\t'" % top]).split()
            most = {"linux-vdso.so.1", "libm.so.6", "libc.so.6", "/lib64/ld-linux-x86-64.so.2"}
            expect(set(needs) <= most, "needs %s", needs)


def spack(build):
    """The recipe can be read, names what CMake knows, and every variant has its option."""
    recipe = os.path.join(ROOT, "packaging", "spack", "package.py")
    text = cases.text_of(recipe)
    run([sys.executable, "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())", recipe])
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/spack")
        for name in ("spack/__init__.py", "spack/package.py"):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(FAKE_SPACK if name.endswith("package.py") else "")
        script = ("import importlib.util, sys; sys.path.insert(0, sys.argv[1]); import spack.package as p; "
                  "s = importlib.util.spec_from_file_location('r', sys.argv[2]); m = importlib.util.module_from_spec(s); s.loader.exec_module(m); "
                  "print(*p.VARIANTS); print(*p.VERSIONS); print(m.Iorama(on=()).cmake_args()); print(m.Iorama(on=p.VARIANTS).cmake_args())")  # fmt: skip
        told = run([sys.executable, "-c", script, folder, recipe]).splitlines()
    version = re.search(r"^project\(iorama VERSION ([0-9.]+)", cases.text_of(os.path.join(ROOT, "CMakeLists.txt")), re.M).group(1)
    expect(version in told[1].split(), "versions are %s, not %s", told[1], version)
    known = set(re.findall(r"^iorama_optional\((\w+)", cases.text_of(os.path.join(ROOT, "CMakeLists.txt")), re.M)) | {"mpi"}
    left = set(re.search(r"IORAMA_WITHOUT=([\w;]+)", told[2]).group(1).split(";"))
    expect(left <= known and left, "the recipe leaves out %s", left - known)
    expect("IORAMA_WITHOUT=" not in told[3] or re.search(r"IORAMA_WITHOUT=['\"]", told[3]) or not known & set(
        re.search(r"IORAMA_WITHOUT=([\w;]*)", told[3]).group(1).split(";")) - {"zydis", "otf2", "libnats"}, "all variants: %s", told[3])  # fmt: skip
    expect("depends_on(\"zlib-api\")" in text, "zlib is needed")


FAKE_SPACK = '''
VARIANTS, VERSIONS = [], []
def variant(name, **k): VARIANTS.append(name)
def version(name, **k): VERSIONS.append(name)
def depends_on(*a, **k): pass
def license(*a, **k): pass
def maintainers(*a, **k): pass
def conflicts(*a, **k): pass
class Prefix: lib = "lib"
class CMakePackage:
    def __init__(self, on): self.on, self.spec, self.prefix = on, self, Prefix()
    def satisfies(self, text): return text[1:] in self.on
    def define(self, name, value): return "-D%s=%s" % (name, ";".join(value) if isinstance(value, (list, tuple)) else value)
'''


def uninstall(build):
    """make install, make uninstall: nothing is left, not even a folder that was made."""
    with tempfile.TemporaryDirectory(prefix="iorama-package-") as folder:
        run(["cmake", "--install", build, "--prefix", "/usr"], env=dict(os.environ, DESTDIR=folder))
        expect(len(glob.glob(folder + "/usr/bin/iorama*")) >= 2, "not installed")
        run([os.path.join(ROOT, "tools", "uninstall"), "/usr"], env=dict(os.environ, DESTDIR=folder))
        left = [os.path.join(at, n) for at, _, names in os.walk(folder) for n in names]
        ours = [at for at, _, _ in os.walk(folder) if "iorama" in os.path.relpath(at, folder)]
        expect(not left and not ours, "left behind: %s %s", left, ours)


def installed(build, folder):
    run(["cmake", "--install", build, "--prefix", folder + "/usr"])
    return folder + "/usr"


def modules(build):
    """Module files, read by the program that sites have."""
    with tempfile.TemporaryDirectory(prefix="iorama-package-") as folder:
        top = installed(build, folder)
        os.makedirs(folder + "/m/iorama")
        shutil.copy(top + "/share/iorama/modules/iorama.tcl", folder + "/m/iorama/1.0")
        tcl = next((p for p in glob.glob("/usr/lib/*/modulecmd.tcl") + glob.glob("/usr/share/[mM]odules/libexec/modulecmd.tcl")), None)
        if tcl is None:
            raise Skip("environment-modules is not installed")
        load = 'eval "$(%s sh load iorama)"; ' % tcl
        env = {"PATH": PATHS, "MODULEPATH": folder + "/m", "HOME": folder}
        told = run(["sh", "-c", load + "command -v iorama; iorama config --preload; echo \"$LD_PRELOAD.\"; man -w iorama-report"], env=env)
        expect(told.split("\n")[:4] == [top + "/bin/iorama", top + "/lib/libiorama.so", ".", top + "/share/man/man1/iorama-report.1"], "Tcl: %s", told)
        env["IORAMA_MODULE_PRELOAD"] = "1"
        told = run(["sh", "-c", load + 'echo "$LD_PRELOAD"; eval "$(LD_PRELOAD= %s sh unload iorama)"; echo "$LD_PRELOAD."' % tcl],
                   env=dict(env, IORAMA_DISABLE="1"))  # fmt: skip
        expect(told.split() == [top + "/lib/libiorama.so", "."], "Tcl, preloaded: %s", told)
        lua = shutil.which("lua5.4") or shutil.which("lua5.3") or shutil.which("lua")
        if lua is None:
            raise Skip("lua is not installed")
        with open(folder + "/play.lua", "w", encoding="utf-8") as file:
            file.write("function pathJoin(a, b) return a .. '/' .. b end\nfunction help() end\nfunction whatis() end\n"
                       "function isFile() return false end\nfunction setenv(n, v) print(n .. '=' .. v) end\n"
                       "function prepend_path(n, v) print(n .. '+' .. v) end\ndofile(arg[1])\n")  # fmt: skip
        words = [lua, folder + "/play.lua", top + "/share/iorama/modules/iorama.lua"]
        plain, loaded = run(words, env={"PATH": PATHS}), run(words, env=env)
        expect("PATH+%s/bin\n" % top in plain and "LD_PRELOAD" not in plain, "Lua: %s", plain)
        expect("LD_PRELOAD+%s/lib/libiorama.so\n" % top in loaded, "Lua, preloaded: %s", loaded)


def taskprolog(build):
    """What the prolog prints, done to a task as Slurm does it."""
    prolog = os.path.join(ROOT, "packaging", "slurm", "taskprolog")
    library = cases.Built(build).library
    with tempfile.TemporaryDirectory(prefix="iorama-package-") as folder:
        defaults = os.path.join(folder, "defaults")

        def task(site, **env):
            with open(defaults, "w", encoding="utf-8") as file:
                file.write("IORAMA_LIBRARY=%s\nIORAMA_CONFIG=/nonexistent\n%s\n" % (library, site))
            told = run(["env", "-i", "PATH=" + PATHS, "IORAMA_SLURM_DEFAULTS=" + defaults, "SLURM_JOB_UID=4711"]
                       + ["%s=%s" % e for e in env.items()] + [prolog])  # fmt: skip
            result = dict(env)
            for line in told.splitlines():
                word, rest = line.split(" ", 1)
                expect(word in ("export", "unset"), "Slurm knows no %s", line)
                if word == "unset":
                    result.pop(rest, None)
                else:
                    result.update([rest.split("=", 1)])
            return result

        expect(task("").get("IORAMA_DISABLE") == "1", "nobody asked")
        on = task("IORAMA_DEFAULT=on\nIORAMA_LOG_DIR=/logs/%u/x")
        expect(on.get("LD_PRELOAD") == library and on.get("IORAMA_LOG_DIR") == "/logs/4711/x" and "IORAMA_TRACE" not in on, "on: %s", on)
        expect(task("IORAMA_DEFAULT=on", IORAMA="off").get("IORAMA_DISABLE") == "1", "a user may switch it off")
        expect("IORAMA_DISABLE" not in task("IORAMA_DEFAULT=on\nIORAMA_SWITCH_OFF=no", IORAMA="off"), "unless the site says no")
        expect(task("", IORAMA="trace").get("IORAMA_TRACE") == "1", "trace")
        other = glob.glob("/lib/*/libm.so.6")[0]
        inner = task("IORAMA_DEFAULT=on", LD_PRELOAD=other + ":" + library, IORAMA_LEAST_BYTES="1M", IORAMA_LEAST_SECONDS="9",
                      IORAMA_LIVE="1", IORAMA_DISABLE="1", IORAMA_LOG_DIR="/own")
        expect(inner["LD_PRELOAD"] == library + ":" + other, "our library first, once: %s", inner)
        expect("IORAMA_LIVE" not in inner and "IORAMA_DISABLE" not in inner and inner["IORAMA_LOG_DIR"] == "/own", "a step of its own: %s", inner)
        expect(task("IORAMA_DEFAULT=on", IORAMA_RUN_HOST="h") == {"IORAMA_RUN_HOST": "h"}, "iorama run is left alone")
        gone = task("IORAMA_DEFAULT=on\nIORAMA_LIBRARY=/nonexistent.so")
        expect("LD_PRELOAD" not in gone, "no library: %s", gone)


def versions(_):
    """One version, wherever it is written."""
    wanted = re.search(r"^project\(iorama VERSION ([0-9.]+)", cases.text_of(os.path.join(ROOT, "CMakeLists.txt")), re.M).group(1)
    places = {"python/pyproject.toml": r'^version = "(.*)"', "python/iorama/__init__.py": r'^__version__ = "(.*)"',
              "packaging/iorama.spec": r"iorama_version:([0-9.]+)", "packaging/debian/changelog": r"^iorama \((.*)-1\)",
              "packaging/spack/package.py": r'^    version\("(.*?)"', "CHANGELOG.md": r"^## ([0-9.]+)$"}  # fmt: skip
    for name, pattern in places.items():
        found = re.search(pattern, cases.text_of(os.path.join(ROOT, name)), re.M)
        expect(found and found[1] == wanted, "%s says %s, not %s", name, found and found[1], wanted)


CASES = {"versions": versions, "deb": deb, "rpm": rpm, "tar": tar, "spack": spack, "uninstall": uninstall, "modules": modules, "taskprolog": taskprolog}


def perform(build, name):
    CASES[name](os.path.abspath(build))
    return []


if __name__ == "__main__":
    cases.main(list(CASES), perform)
