/* SPDX-License-Identifier: BSD-3-Clause */
/* started.c: how the job of a rank was started, for those who want to start it again: the words of
 * the launcher above it, or what the batch system says of the step. Asked once, in MPI_Finalize. */
#include "capture/mpi/mpi.h"
#include "logfile/log.h"

#define UP 4 /* processes between a rank and its launcher, at most */

/* programs that start ranks: rows of launchers.def that are a family, or may be of any */
static bool starts_ranks(const char *name, size_t n)
{
	enum {
		RUNS,
		ENV,
		REFUSED,
		ELSEWHERE,
		DAEMON,
		MPI,
		OPENMPI,
		HYDRA,
		SRUN,
		APRUN,
		JSRUN,
		FLUX
	};
	static const struct {
		const char *name;
		int kind;
	} row[] = {
#define FAMILY(...)
#define LAUNCHER(program, what, ...) { program, what },
#include "table/launchers.def"
#undef FAMILY
#undef LAUNCHER
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (row[i].kind >= MPI && strlen(row[i].name) == n &&
		    memcmp(row[i].name, name, n) == 0)
			return true;
	return false;
}

static void proc_path(char to[64], long pid, const char *file)
{
	char digits[24];
	size_t k = sizeof(digits), n = sizeof("/proc/") - 1;

	do
		digits[--k] = (char)('0' + pid % 10);
	while ((pid /= 10) > 0);
	memcpy(to, "/proc/", n);
	memcpy(to + n, digits + k, sizeof(digits) - k);
	n += sizeof(digits) - k;
	memcpy(to + n, file, strlen(file) + 1);
}

/* the parent of a process; 0: not known */
static long parent_of(long pid)
{
	char path[64], text[1024], *p;
	long up = 0;

	proc_path(path, pid, "/stat");
	if (rama_cap_sys_slurp(path, text, sizeof(text)) == 0)
		return 0;
	p = strrchr(text, ')'); /* the name may hold anything */
	if (!p || strlen(p) < 5)
		return 0;
	for (p += 4; *p >= '0' && *p <= '9'; p++)
		up = up * 10 + (*p - '0');
	return up;
}

/* its words, joined by blanks, if it is a launcher: how many bytes; 0: it is none */
static size_t words_of(long pid, char *to, size_t room)
{
	char path[64];
	const char *name = to;
	size_t n;

	proc_path(path, pid, "/cmdline");
	n = rama_cap_sys_slurp(path, to, room);
	if (n == 0 || n + 1 >= room) /* cut off it would be another command */
		return 0;
	for (const char *p = to; *p != '\0'; p++)
		name = *p == '/' ? p + 1 : name;
	if (!starts_ranks(name, strlen(name)))
		return 0;
	n -= to[n - 1] == '\0';
	for (size_t i = 0; i < n; i++)
		to[i] = (unsigned char)to[i] < ' ' ? ' ' : to[i];
	return n;
}

static size_t put(char *to, size_t at, size_t room, const char *text)
{
	size_t n = strlen(text);

	if (at + n >= room)
		return room;
	memcpy(to + at, text, n + 1);
	return at + n;
}

/* a step of Slurm: srun itself is on another host */
static size_t words_of_step(char *to, size_t room)
{
	const char *nodes = rama_cap_variable("SLURM_STEP_NUM_NODES"),
		   *tasks = rama_cap_variable("SLURM_STEP_NUM_TASKS");
	size_t n = 0;

	if (!rama_cap_variable("SLURM_STEP_ID") || !tasks)
		return 0;
	n = put(to, n, room, "srun");
	if (nodes) {
		n = put(to, n, room, " -N ");
		n = put(to, n, room, nodes);
	}
	n = put(to, n, room, " -n ");
	n = put(to, n, room, tasks);
	n = put(to, n, room, " ");
	n = put(to, n, room, rama_cap_run.id->command);
	return n < room ? n : 0;
}

const char *rama_cap_mpi_started(void)
{
	static char note[sizeof(RAMA_LOG_META_COMMAND) + RAMA_LOG_META_COMMAND_MOST + 2];
	const size_t key = sizeof(RAMA_LOG_META_COMMAND) - 1, room = sizeof(note) - key - 1;
	long pid = rama_cap_run.id->ppid;
	size_t n = 0;

	memcpy(note, RAMA_LOG_META_COMMAND, key);
	for (unsigned i = 0; i < UP && pid > 1 && n == 0; i++, pid = parent_of(pid))
		n = words_of(pid, note + key, room);
	if (n == 0)
		n = words_of_step(note + key, room);
	if (n == 0)
		return NULL;
	memcpy(note + key + n, "\n", 2);
	return note;
}
