#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# install.sh BUILD: installs into a place, moves that elsewhere, and observes programs
# from there: preloaded, linked shared, linked static. What dd and the program write is the truth.
set -eu
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAIL: $*"; exit 1; }

cmake --install "$build" --prefix "$work/first" >"$work/install.log" || fail "$(tail -n 3 "$work/install.log")"
mv "$work/first" "$work/usr"
PATH=$work/usr/bin:$PATH
export IORAMA_DIR="$work/seg"
cd "$work"
[ "$(command -v iorama)" = "$work/usr/bin/iorama" ] || fail "another iorama is found"
case $(iorama config --preload) in
"$work"/usr/*) ;;
*) fail "the library is looked for in $(iorama config --preload)" ;;
esac

written() { iorama show -m POSIX -c POSIX_BYTES_WRITTEN --file='*/out' "$1" | grep -v '^#' | cut -f 5 | grep .; }
iorama run -q -o run.darshan dd if=/dev/zero of=out bs=1000 count=3 status=none
[ "$(written run.darshan)" = 3000 ] || fail "iorama run: $(written run.darshan) bytes"

cat >p.c <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	int fd = open("out", O_CREAT | O_WRONLY, 0600);

	return write(fd, "hello", 5) != 5;
}
END
for kind in "" -static; do
	# shellcheck disable=SC2086 # may be empty
	iorama-cc $kind p.c -o "p$kind" || fail "iorama-cc $kind"
	IORAMA_LOG=$work/p$kind.darshan "./p$kind"
	[ "$(written "p$kind.darshan")" = 5 ] || fail "iorama-cc $kind: $(written "p$kind.darshan") bytes"
done
iorama doctor -q >doctor.txt || fail "$(cat doctor.txt)"
echo "ok: observed from an installed place that was moved"
