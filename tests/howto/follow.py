#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""follow.py [--source ROOT] [--generator NAME] [--keep DIR] PAGE...: do what how-tos say, in a copy of the tree.

Of the code blocks of a page, in their order:
    ```c new=PATH        makes a file (any language)
    ```diff              is applied with patch -p1, without fuzz
    ```sh                is run with sh -e in the root of the copy; build/ is configured there before the first
    any other            is only read
and <!-- touches: 4 files --> says how many files of the tree all of that makes or changes; what the build prints from tables
(docs/counters.md and its like) does not count.

All pages share one copy. What they edit before their first ```sh is edited first, page by page, so that one build serves all;
then each goes on. So pages must not depend on each other, and must not edit the same lines.

Ends with 0 if every block did what it should and the numbers are right, 1 and the place of the block if not, 77 if no page has
blocks to follow. --self-test follows made-up pages, good and bad ones.
"""
import argparse
import hashlib
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

FENCE = re.compile(r"^([ \t]*)(```+|~~~+)[ \t]*(\w*)([^\n`]*)\n(.*?)^[ \t]*\2[ \t]*$", re.M | re.S)
TOUCHES = re.compile(r"<!--\s*touches:\s*(\d+)\s+files?\b[^>]*-->")
NEW = re.compile(r"\bnew=(\S+)")
GENERATED = ("docs/counters.md", "docs/metrics.md", "docs/rules.md")
SECONDS = 900  # of one block
SHOWN = 60  # lines of what failed


class Failed(Exception):
    pass


class Block:
    def __init__(self, page, line, kind, text, path=None):
        self.page, self.line, self.kind, self.text, self.path = page, line, kind, text, path

    def __str__(self):
        return f"{self.page}:{self.line}: {self.kind}" + (f" {self.path}" if self.path else "")


class Page:
    def __init__(self, name, text):
        self.name, self.blocks, self.touched = name, [], set()
        told = TOUCHES.search(text)
        self.touches = int(told[1]) if told else None
        for found in FENCE.finditer(text):
            indent, _, word, info, body = found.groups()
            at = 1 + text.count("\n", 0, found.start())
            lines = body.split("\n")
            body = "\n".join(line[len(indent):] if line.startswith(indent) else line.lstrip() for line in lines)
            path = NEW.search(info)
            if path:
                self.blocks.append(Block(name, at, "new", body, path[1]))
            elif word in ("diff", "sh"):
                self.blocks.append(Block(name, at, word, body))


def copy_tree(source, to):
    """what git knows or would take, else all but builds"""
    listed = subprocess.run(["git", "-C", source, "ls-files", "-coz", "--exclude-standard"], capture_output=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        names = [name for name in listed.stdout.decode().split("\0") if name]
    else:
        names = []
        for directory, folders, files in os.walk(source):
            folders[:] = [name for name in folders if not name.startswith("build") and name != ".git"]
            names += [os.path.relpath(os.path.join(directory, name), source) for name in files]
    for name in names:
        if os.path.lexists(os.path.join(source, name)):
            os.makedirs(os.path.join(to, os.path.dirname(name)), exist_ok=True)
            shutil.copy2(os.path.join(source, name), os.path.join(to, name), follow_symlinks=False)


def snapshot(root):
    found = {}
    for directory, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in ("build", "__pycache__", ".git", ".scratch")]
        for name in files:
            path = os.path.join(directory, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, root)] = hashlib.sha1(file.read()).digest()
    return found


def changed(before, after):
    return {name for name in before.keys() | after.keys()
            if before.get(name) != after.get(name) and name not in GENERATED}


class Follower:
    def __init__(self, root, generator, configure):
        self.root, self.generator, self.configure, self.configured = root, generator, configure, False
        self.pages = []
        scratch = os.path.join(root, ".scratch")
        os.makedirs(scratch, exist_ok=True)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("IORAMA_", "DARSHAN_", "LD_PRELOAD", "MAKEFLAGS"))}
        self.environment.update(TMPDIR=scratch, IORAMA_DIR=os.path.join(scratch, "segments"), CCACHE_BASEDIR=root,
                                CCACHE_NOHASHDIR="1", CMAKE_BUILD_PARALLEL_LEVEL=str(min(4, os.cpu_count() or 1)))

    def run(self, what, command, text=None):
        try:
            done = subprocess.run(command, cwd=self.root, env=self.environment, input=text, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"{what}: not done after {SECONDS} s") from None
        if done.returncode == 0:
            return
        lines = done.stdout.rstrip().split("\n")[-SHOWN:]
        owners = {f"{name} is as {page.name} made it" for page in self.pages for name in page.touched if name in done.stdout}
        raise Failed("\n".join([f"{what}: status {done.returncode}", *("    " + line for line in lines), *sorted(owners)]))

    def prepare(self):
        """configures build/ with what makes it quick: no optimisation, no tests, a cache if there is one"""
        if self.configured or not self.configure:
            return
        self.configured = True
        command = ["cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=None", "-DIORAMA_WERROR=ON", "-DIORAMA_TESTS=OFF"]
        command += ["-G", self.generator] if self.generator else []
        if shutil.which("ccache"):
            command.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
        self.run("configuring the copy", command)

    def do(self, block):
        if block.kind == "new":
            path = os.path.normpath(os.path.join(self.root, block.path))
            if not path.startswith(self.root + os.sep):
                raise Failed(f"{block}: is not in the tree")
            if os.path.exists(path):
                raise Failed(f"{block}: is there already")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(block.text)
        elif block.kind == "diff":
            self.run(f"{block} does not apply",
                     ["patch", "-p1", "--fuzz=0", "--batch", "--forward", "--no-backup-if-mismatch", "-r", "-"], block.text)
        else:
            self.prepare()
            self.run(f"{block} fails", ["sh", "-e", "-c", block.text])

    def part(self, page, blocks):
        before = snapshot(self.root)
        for block in blocks:
            began = time.monotonic()
            self.do(block)
            print(f"{block}: done, {time.monotonic() - began:.1f} s", flush=True)
        page.touched |= changed(before, snapshot(self.root))

    def follow(self, pages):
        self.pages = pages
        first = {page: next((i for i, block in enumerate(page.blocks) if block.kind == "sh"), len(page.blocks)) for page in pages}
        for page in pages:
            self.part(page, page.blocks[:first[page]])
        for page in pages:
            self.part(page, page.blocks[first[page]:])
        for page in pages:
            if page.touches != len(page.touched):
                raise Failed(f"{page.name}: says that it touches {page.touches} files, but it touches {len(page.touched)}: "
                             + ", ".join(sorted(page.touched)))


def follow(source, names, generator=None, keep=None, configure=True):
    """0, 1 or 77"""
    pages = []
    for name in names:
        with open(os.path.join(source, name), encoding="utf-8") as file:
            pages.append(Page(name, file.read()))
    empty = [page.name for page in pages if not page.blocks or page.touches is None]
    if len(empty) == len(pages):
        print("SKIP: no blocks to follow in", *empty)
        return 77
    try:
        if empty:
            raise Failed(f"{', '.join(empty)}: no blocks to follow, or no <!-- touches: N files -->")
        with tempfile.TemporaryDirectory(prefix="howto-") as scratch:
            root = os.path.abspath(keep or os.path.join(scratch, "tree"))
            os.makedirs(root)
            copy_tree(source, root)
            Follower(root, generator, configure).follow(pages)
    except Failed as failed:
        print(failed)
        return 1
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(pages)} pages followed, {used.ru_utime + used.ru_stime:.0f} s of CPU time")
    return 0


# ---- itself ----------------------------------------------------------------------------------

def page_of(*blocks, touches=2):
    return f"# How to\n<!-- touches: {touches} files -->\n\n" + "\n\n".join(blocks) + "\n"


def self_test():
    made = "```c new=src/b.c\nint b;\n```"
    edit = "1. In `a.c`:\n\n   ```diff\n   --- a/src/a.c\n   +++ b/src/a.c\n   @@ -1,2 +1,3 @@\n    int a;\n   +int more;\n    int c;\n   ```"
    look = "```sh\ngrep -q more src/a.c\ntest -f src/b.c\nmkdir -p build && touch build/x\necho new > docs/counters.md\n```"
    other = page_of("```c new=src/d.c\nint d;\n```", "```sh\ntest -f src/d.c\n```", "```c\nonly read\n```", touches=1)
    good = page_of(made, edit, look)
    wrong = edit.replace("int a;", "int other;")
    bad = {
        "a file that is there": (page_of(made.replace("b.c", "a.c"), edit, look), "new src/a.c: is there already"),
        "a file outside": (page_of(made.replace("src/b.c", "../b.c"), edit, look), "is not in the tree"),
        "a diff that does not apply": (page_of(made, wrong, look), "howto.md:10: diff does not apply"),
        "a diff twice": (page_of(made, edit, edit, look), "diff does not apply"),
        "a diff that applies with fuzz only": (page_of(made, edit.replace("    int c;", "    int z;"), look), "diff does not apply"),
        "commands that fail": (page_of(made, edit, look.replace("grep -q more", "grep -q none")), "howto.md:19: sh fails: status 1"),
        "commands that fail in between": (page_of(made, edit, "```sh\nfalse\ntrue\n```"), "sh fails"),
        "a wrong number": (page_of(made, edit, look, touches=3), "says that it touches 3 files, but it touches 2"),
        "files that commands change": (page_of(made, edit, look + "\n\n```sh\necho x > src/e.c\n```"), "but it touches 3"),
        "no number": (good.replace("touches", "touched"), "no blocks to follow"),
        "pages that meet": (page_of(made, edit, look).replace("b.c", "d.c"), "new src/d.c: is there already"),
    }
    failed = 0
    for what, (text, says) in [("a good page", (good, None)), *sorted(bad.items()), ("no blocks", ("# How to\n", None))]:
        with tempfile.TemporaryDirectory() as root:
            for name, content in {"src/a.c": "int a;\nint c;\n", "docs/counters.md": "old\n", "howto.md": text, "other.md": other,
                                  "build/left": "not copied\n"}.items():
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(content)
            out = subprocess.run([sys.executable, __file__, "--source", root, "--no-configure", "howto.md",
                                  *([] if what == "no blocks" else ["other.md"])],
                                 capture_output=True, text=True, check=False)
        want = 1 if says else 77 if what == "no blocks" else 0
        if out.returncode != want or (says and says not in out.stdout):
            failed += 1
            print(f"self-test: {what}: status {out.returncode}\n{out.stdout}{out.stderr}")
    print(f"self-test: {len(bad) + 2 - failed} of {len(bad) + 2} pages judged rightly")
    return 1 if failed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    words = argparse.ArgumentParser(usage=__doc__)
    words.add_argument("--source", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    words.add_argument("--generator")
    words.add_argument("--keep", metavar="DIR", help="make the copy there, and leave it")
    words.add_argument("--no-configure", action="store_true")
    words.add_argument("page", nargs="+")
    given = words.parse_args()
    return follow(given.source, given.page, given.generator, given.keep, not given.no_configure)


if __name__ == "__main__":
    sys.exit(main())
