#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# install.sh BUILD SOURCE: installs into a temporary place, builds the example programs against it with
# pkg-config, shared and static, and checks what they print against what writelog.c says it wrote.
set -eu
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/usr" >"$work/install.log"
PKG_CONFIG_PATH=$(dirname "$(find "$work/usr" -name iorama-log.pc)")
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion iorama-log)" = "$("$work/usr/bin/iorama" --version | sed -n '1s/iorama //p')" ]

fail() { echo "FAIL: $*"; exit 1; }
libdir=$(pkg-config --variable=libdir iorama-log)
for kind in shared static; do
	if [ $kind = shared ]; then
		flags="$(pkg-config --cflags --libs iorama-log) -Wl,-rpath,$libdir"
	else
		flags="$(pkg-config --cflags iorama-log) -Wl,-Bstatic -L$libdir -liorama-log -Wl,-Bdynamic $(pkg-config --static --libs iorama-log)"
	fi
	for program in writelog bytes; do
		# shellcheck disable=SC2086 # several words on purpose
		${CC:-cc} -std=c11 -Wall -Wextra -Werror "$source/examples/$program.c" -o "$work/$program-$kind" $flags ||
			fail "$program does not build ($kind)"
	done
	"$work/writelog-$kind" "$work/$kind.darshan"
	"$work/bytes-$kind" "$work/$kind.darshan" >"$work/$kind.txt"
done
cat >"$work/expected.txt" <<-EOF
	./galaxy --steps 3 on 4 processes
	           0      9025536 /scratch/astro/checkpoint.h5
	     1048576            0 /scratch/astro/input.0.dat
	     1048576            0 /scratch/astro/input.1.dat
	     1048576            0 /scratch/astro/input.2.dat
	     1048576            0 /scratch/astro/input.3.dat
EOF
cmp "$work/shared.txt" "$work/expected.txt" || { diff "$work/expected.txt" "$work/shared.txt"; fail "bytes prints something else"; }
cmp "$work/shared.txt" "$work/static.txt" || fail "shared and static differ"
cmp "$work/shared.darshan" "$work/static.darshan" || fail "shared and static write different logs"
"$work/bytes-shared" /nonexistent.darshan 2>"$work/err" && fail "a missing log is no error"
grep -q '^/nonexistent.darshan: cannot be opened' "$work/err" || fail "its message: $(cat "$work/err")"
[ "$(wc -l <"$source/examples/bytes.c")" -le 30 ] || fail "the example has more than 30 lines"
if nm -D --defined-only "$libdir/libiorama-log.so" | awk '{print $3}' | grep -v '^iorama_\|^IORAMA_LOG_'; then
	fail "the library exports names that are not its own"
fi
for page in iorama iorama-show iorama-convert iorama-merge; do
	[ -s "$work/usr/share/man/man1/$page.1" ] || fail "no manual page $page"
done
[ -s "$work/usr/share/doc/iorama/docs/start.md" ] || fail "no documents"

# What was installed goes, by the list; what is another's stays.
mkdir -p "$work/usr/share/iorama/own"
: >"$work/usr/share/iorama/own/file"
: >"$work/usr/bin/other"
"$source/tools/uninstall" "$work/usr" >/dev/null || fail "uninstall ends with $?"
left=$(cd "$work/usr" && find . -not -type d | sort | tr '\n' ' ')
[ "$left" = "./bin/other ./share/iorama/own/file " ] || fail "uninstall left $left"
"$source/tools/uninstall" "$work/usr" 2>/dev/null && fail "a second uninstall is no error"
echo "ok: examples built against the installed library, shared and static"
