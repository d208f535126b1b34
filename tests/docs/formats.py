#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""formats.py: the versions that docs/format/README.md tells are those of the program."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def sources():
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        for name in files:
            if name.endswith((".h", ".c")):
                yield text_of(folder, name)


def main():
    code, wrong, seen = "\n".join(sources()), [], 0
    rows = re.findall(r"^\| .*? \| (?:schema )?(\d+) \| `(\w+)` \|", text_of("docs", "format", "README.md"), re.M)
    for told, name in rows:
        if name.isupper():
            is_now = re.search(r"#define %s (\d+)" % name, code)
            is_now = is_now and int(is_now[1])
        else:  # a list of what brings one version to the next, which ends with NULL
            is_now = max(found.count(",") for found in re.findall(r"%s\[\] = \{([^}]*)\}" % name, code))
        seen += 1
        if is_now != int(told):
            wrong.append("%s: the page says %s, the program %s" % (name, told, is_now))
    if seen < 6:
        wrong.append("the page tells only %d versions" % seen)
    print("\n".join(wrong) or "ok: %d versions" % seen)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
