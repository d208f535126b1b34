#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpi.sh BUILD FAMILY: `iorama run mpirun` of a family (openmpi, mpich), with what mpi.c writes as the truth.
set -eu
build=$1 family=$2
here=$(cd "$(dirname "$0")" && pwd)
PATH=$build/bin:$PATH

skip() { echo "SKIP: $*"; exit 77; }
fail() { echo "FAIL: $*"; cat report 2>/dev/null || :; exit 1; }
command -v "mpirun.$family" >/dev/null || skip "mpirun.$family is not installed"
command -v "mpicc.$family" >/dev/null || skip "mpicc.$family is not installed"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export IORAMA_DIR="$work/seg"
# in a container, and as its root, on any number of cores
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
"mpicc.$family" -O1 "$here/mpi.c" -o app

figure() { python3 -c 'import json, sys; print(json.load(open("report"))[sys.argv[1]])' "$1"; }

# a job, two programs of one job, and a launcher behind others; then how the job ends
for words in "mpirun.$family -n 3 ./app" "mpirun.$family -n 1 ./app : -n 2 ./app" "env A=1 timeout 60 mpirun.$family -n 3 ./app"; do
	# shellcheck disable=SC2086 # words
	iorama run --json -f -o log.darshan $words 2>report || fail "$words ended with $?"
	[ "$(figure processes)" = 3 ] || fail "$words: processes $(figure processes), not 3"
	[ "$(figure unfinished)" = 0 ] || fail "$words: unfinished $(figure unfinished), not 0"
	iorama show -m POSIX -c POSIX_BYTES_WRITTEN --file='*/out.*' log.darshan | grep -v '^#' | grep . |
		cut -f 5,6 | sed 's|/.*/||' | sort >have
	printf '12288\tout.2\n4096\tout.0\n8192\tout.1\n' | cmp -s have - || fail "$words: $(cat have)"
	[ "$(find "$IORAMA_DIR" | wc -l)" = 1 ] || fail "$words: segments were left"
done
status=0
iorama run -q -f -o log.darshan "mpirun.$family" -n 2 ./app one two 2>report || status=$?
[ $status = 2 ] || fail "the status is $status, not that of the job, 2"
echo "ok: 3 processes of mpirun.$family, without the launcher"
