#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Second tries: allowed where a program that is not ours went wrong and no library of ours was in it, and few in all.

again(why) counts one, in the file that $IORAMA_TEST_TRIES names, and fails when the tests together have had all that
they may. From the shell: tries.py FILE begin|count, before and after the tests that may try again;
tries.py --self-test: as many as are allowed pass, one more does not."""
import fcntl
import os
import sys
import tempfile

from cases import Failed

MOST = 3  # in all tests of one run of CTest


def again(why):
    """Returns if it may be tried once more."""
    path = os.environ.get("IORAMA_TEST_TRIES")
    number = 1
    if path:
        with open(path, "a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write("%s: %s\n" % (os.path.basename(sys.argv[0]), " ".join(str(why).split())))
            file.flush()
            file.seek(0)
            number = len(file.readlines())
    print("tried again (%d of at most %d in all tests): %s" % (number, MOST, why), flush=True)
    if number > MOST:
        raise Failed("tried again too often: %s" % why)


def self_test():
    with tempfile.NamedTemporaryFile() as file:
        os.environ["IORAMA_TEST_TRIES"] = file.name
        for number in range(MOST):
            again("allowed %d" % number)
        try:
            again("one too many")
        except Failed:
            return 0
    print("one more than %d was allowed" % MOST)
    return 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    path, word = sys.argv[1:]
    if word == "begin":
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8"):
            return 0
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    print("\n".join([*lines, "%d second tries, at most %d are allowed" % (len(lines), MOST)]))
    return 1 if len(lines) > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
