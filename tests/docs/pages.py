#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pages.py BUILD [PAGE…]: what the pages for people tell to type is typed, in an empty folder for each page.

Of the code blocks of a page, in their order: ```LANGUAGE new=FILE makes a file; ```sh is run with bash -e (with
needs=PROGRAM,… only where these are installed); all others are only read. A page whose commands are all indented or in other
blocks would show nothing: each must have at least one block that is run.

Pictures of some pages are what their commands make: those in the tree are like those that were made now (IORAMA_TEST_SAVE=1 puts
the new ones there)."""
import contextlib
import os
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import cases  # noqa: E402
from cases import Failed, expect, text_of  # noqa: E402

PAGES = ("start", "how-it-works", "migrate", "faq", "admin", "gallery", "README")
PICTURES = ("gallery",)  # pages whose commands make the pictures that they show
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
SECONDS = 240


def path_of(page):
    return "README.md" if page == "README" else "docs/%s.md" % page


def blocks(page):
    text = text_of(os.path.join(cases.ROOT, path_of(page)))
    for found in FENCE.finditer(text):
        words = dict(word.split("=", 1) for word in found[2].split() if "=" in word)
        yield text.count("\n", 0, found.start()) + 1, found[1], words, found[3]


def surroundings(build, folder):
    return cases.environment(
        PATH=os.path.join(build, "bin") + os.pathsep + "/usr/bin:/bin:/usr/sbin:/sbin", HOME=folder,
        LIBIORAMA=os.path.join(build, "lib", "libiorama.so"), EXAMPLES=os.path.join(cases.ROOT, "examples"),
        IORAMA_DIR=os.path.join(folder, ".segments"), XDG_DATA_HOME=None, XDG_STATE_HOME=None, XDG_CONFIG_HOME=None)


def shape(path):
    """What does not change from run to run: kinds of elements and words of an SVG, the size of a PNG, and that there is something."""
    if path.endswith(".png"):
        with open(path, "rb") as file:
            head = file.read()
        empty = len(head) < 40000  # a page of 1.2 million dots that shows nothing is smaller by far
        return head[:8] == b"\x89PNG\r\n\x1a\n", struct.unpack(">II", head[16:24]), "empty" if empty else "filled"
    root = ElementTree.parse(path).getroot()
    found = {element.get("class") for element in root.iter() if element.get("class") in ("ir-v", "ir-h", "ir-s", "ir-o", "ir-f")}
    words = [e.text for e in root.iter() if e.get("class") == "ir-h" or e.get("class") == "c" and (e.text or "").startswith("$ ")]
    return root.tag, root.get("width"), sorted(found, key=str), words


def look(page, folder):
    """The pictures that a page shows were made by its commands, if those could run, and are like those in the tree."""
    for name in re.findall(r"!\[[^]]*\]\(img/([^)]+)\)", text_of(os.path.join(cases.ROOT, path_of(page)))):
        made, kept = os.path.join(folder, name), os.path.join(cases.ROOT, "docs", "img", name)
        if os.environ.get("IORAMA_TEST_SAVE") and os.path.exists(made):
            shutil.copyfile(made, kept)
        expect(os.path.exists(kept), "%s shows %s, which is not there", page, name)
        expect(os.path.exists(made), "%s: no command makes %s", page, name)
        expect(shape(made) == shape(kept), "%s is %s now, not %s: IORAMA_TEST_SAVE=1 renews it", name, shape(made), shape(kept))


@contextlib.contextmanager
def saved():
    """Pictures that are kept show a path that says nothing of the machine."""
    folder = "/tmp/simulation"
    os.mkdir(folder)
    try:
        yield folder, None
    finally:
        cases.remove(folder)


def place(build):
    return saved() if os.environ.get("IORAMA_TEST_SAVE") else cases.folders(build, "pages-")


def perform(build, page):
    build, ran, missing = os.path.abspath(build), 0, set()
    with place(build) as (folder, _):
        env = surroundings(build, folder)
        os.symlink(os.path.join(cases.ROOT, "examples"), os.path.join(folder, "examples"))
        for line, kind, words, text in blocks(page):
            if "new" in words:
                with open(os.path.join(folder, words["new"]), "w", encoding="utf-8") as file:
                    file.write(text)
            absent = {name for name in words.get("needs", "").split(",") if name and not shutil.which(name)}
            missing |= absent
            if kind != "sh" or absent:
                continue
            done = subprocess.run(["bash", "-e", "-c", text], cwd=folder, env=env, text=True, errors="replace",
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
            ran += 1
            if done.returncode != 0:
                raise Failed("%s:%d: status %d: %s" % (path_of(page), line, done.returncode, done.stdout[-1500:]))
        expect(ran > 0, "%s: no block is run", path_of(page))
        if missing:
            raise cases.Skip("not installed: " + ", ".join(sorted(missing)))
        if page in PICTURES:
            look(page, folder)


if __name__ == "__main__":
    cases.main(PAGES, perform)
