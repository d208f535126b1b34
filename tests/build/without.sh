#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# without.sh SOURCE: builds the program without any library that can be left out: all of them at once, and what is concerned of each
# alone. What is missing is said when it is configured, in --version and by the command that would have used it; all else works.
# With IORAMA_TEST_LONG=1 the whole is built without each of them, too, and `make check` passes (an hour); IORAMA_TEST_WITHOUT
# names some of them.
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
told="libdeflate bzip2 inih jansson sqlite3 libuv libpq libnats ncursesw liburing otf2 libdw zydis microhttpd libcurl"
all="$told mpi hdf5 pnetcdf"

# configure FOLDER LIBRARIES: without these
configure() {
	cmake -S "$source" -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DIORAMA_TESTS="${3-OFF}" \
		"-DIORAMA_WITHOUT=$(echo "$2" | tr ' ' ';')" >"$work/configured" 2>&1 ||
		{ cat "$work/configured"; fail "cmake without $2"; }
}
quietly() { "$@" >"$work/made" 2>&1 || { tail -n 30 "$work/made"; fail "$*"; }; }

if [ "${IORAMA_TEST_LONG-}" = 1 ]; then
	for name in ${IORAMA_TEST_WITHOUT-$all}; do
		configure "$work/$name" "$name" ON
		quietly cmake --build "$work/$name"
		ctest --test-dir "$work/$name" -L '^quick$' -E '^build/' -j 4 >"$work/tested" 2>&1 ||
			{ tail -n 40 "$work/tested"; fail "make check without $name"; }
		echo "without $name: $(grep '% tests passed' "$work/tested")"
		rm -rf "${work:?}/$name"
	done
fi

# each alone: what says its name is compiled
for name in $told; do
	configure "$work/one" "$name"
	grep -q "^-- without $name: " "$work/configured" || fail "cmake says nothing of $name"
	[ "$(grep -c '^-- without ' "$work/configured")" -lt 4 ] || { cat "$work/configured"; fail "more is left out than $name"; }
	symbol=RAMA_WITHOUT_$(echo "$name" | tr '[:lower:]' '[:upper:]')
	files=$(cd "$source/src" && grep -rl --include='*.c' -e "$symbol\b" -e '<libdeflate.h>' -e RAMA_HAVE_ZYDIS . | sort)
	[ "$name" = libdeflate ] || files=$(cd "$source/src" && grep -rl --include='*.c' "$symbol\b" . | sort)
	# shellcheck disable=SC2046 # file names are words
	[ -z "$files" ] || quietly ninja -C "$work/one" $(echo "$files" | sed -E \
		-e 's,^\./cli/(.*),CMakeFiles/iorama.dir/src/cli/\1.o,' \
		-e 's,^\./capture/(.*),CMakeFiles/iorama_preload.dir/src/capture/\1.o,' \
		-e 's,^\./([a-z]+)/(.*),CMakeFiles/iorama_\1.dir/src/\1/\2.o,')
done
for name in mpi hdf5 pnetcdf; do
	configure "$work/one" "$name"
	command -v mpicc.openmpi >/dev/null || continue
	grep -q "^-- without $name\b" "$work/configured" || fail "cmake says nothing of $name"
done
rm -rf "$work/one"

configure "$work/build" "$all"
for name in $told mpi; do
	grep -q "^-- without $name: " "$work/configured" || fail "cmake says nothing of $name"
done
quietly cmake --build "$work/build" --target iorama iorama_preload

PATH=$work/build/bin:$PATH
cd "$work"
for name in $told; do
	iorama --version | grep -q ", no $name\b" || fail "--version says nothing of $name"
done
# only the C library and zlib are left
if ldd "$work/build/bin/iorama" "$work/build/lib/libiorama.so" | grep '=>' | grep -vE 'lib(z|m|c)\.so'; then
	fail "it is linked with what it is to do without"
fi

# says WORDS COMMAND...: a command that needs what is not there: one line, and status 4
says() {
	words=$1
	shift
	"$@" >out 2>&1 && rc=0 || rc=$?
	[ "$rc" = 4 ] || fail "$*: status $rc: $(cat out)"
	grep -q "this iorama was built without $words" out || fail "$*: $(cat out)"
	[ "$(wc -l <out)" = 1 ] || fail "$*: more than a line: $(cat out)"
}
printf 'some text\n' >input
echo '{}' >x.json
printf '[limits]\n' >x.ini
iorama run -q -o log.darshan cat input >/dev/null
iorama run -q --trace -o trace.darshan cat input >/dev/null
says 'bzip2' iorama convert --compression bzip2 -o packed.darshan log.darshan
says 'a reader of profiles (inih)' iorama report --profile x.ini log.darshan
says 'a reader of JSON (jansson)' iorama emulate graph x.json
says 'a reader of JSON (jansson)' iorama agent --status
says 'SQLite (sqlite3)' iorama index -q --store s.db log.darshan
says 'SQLite (sqlite3)' iorama jobs --store s.db
says 'the loop of iorama agent (libuv)' iorama agent --store s.db
says 'the loop of iorama agent (libuv)' iorama run --live cat input
says 'io_uring (liburing)' iorama emulate app --engine uring --write_filenames out
says 'PostgreSQL (libpq)' iorama jobs --store postgresql://localhost/x
says 'NATS (libnats)' iorama collect nats://localhost:4222
says 'OTF2' iorama export --otf2 -o archive trace.darshan
if [ -e packed.darshan ] || [ -e s.db ]; then fail "something half done is left"; fi

# and the rest
iorama report log.darshan | grep -q 'cat' || fail "no report"
iorama report -q --html=page.html log.darshan || fail "no page"
iorama convert -o again.darshan trace.darshan || fail "convert"
iorama show again.darshan | grep -q POSIX_OPENS || fail "no log"
iorama emulate app --write_filenames data --block_size 1MiB --verify >/dev/null || fail "emulate"
echo "ok: built and tried without $all"
