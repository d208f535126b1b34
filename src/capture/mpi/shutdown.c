/* SPDX-License-Identifier: BSD-3-Clause */
/* shutdown.c: in MPI_Finalize the ranks of a job make one log together
 * (shutdown/shutdown.h). Under `iorama run` on one machine there is nothing to do: it gathers
 * the segments when all is over, also of ranks that died. If some ranks are elsewhere, the log
 * is made for it, beside the one that it will write. */
#include <sys/stat.h>

#include "capture/before.h"
#include "capture/mpi/mpi.h"
#include "capture/uring/uring.h"
#include "config/text.h"
#include "shutdown/shutdown.h"

#define PATIENCE 10
#define LETTERS_LIMIT 2.0 /* seconds */

/* Ranks that come early would wait in MPI_Finalize anyway: they wait here for the late ones,
 * much longer than for answers. */
static void wait_for_all(double limit)
{
	uintptr_t request = 0;

	if (rama_cap_mpi.call.Ibarrier &&
	    rama_cap_mpi.call.Ibarrier(rama_cap_mpi_load(&rama_cap_mpi_post.comm), &request) == 0)
		rama_cap_mpi_wait(&request, limit * PATIENCE);
}

static int make_own(struct rama_shutdown_own *own, struct rama_err *e)
{
	struct rama_source src;
	struct rama_seg *s = malloc(sizeof(*s));
	struct rama_gather_process p = { .rank = rama_cap_mpi.rank,
					 .parent_rank = -1,
					 .nprocs = rama_cap_mpi.size,
					 .images = 1,
					 .ended = 1 };

	if (!s)
		return RAMA_EMEMORY;
	if (rama_cap_mpi.rank == 0)
		p.note = rama_cap_mpi_started();
	if (rama_cap_before_count() > 0) {
		struct rama_log_sink sink = rama_shutdown_own_sink(own);
		const struct rama_cap_before_how how = { &sink, RAMA_LOG_PLAIN_BYTES, 0, &p, true };

		if (rama_cap_before_write(&how) == 0 && rama_shutdown_own_ready(own, e) == 0) {
			free(s);
			return 0;
		}
		rama_shutdown_own_fini(own);
	}
	rama_cap_memory_source(&src);
	int rc = rama_seg_open(s, &src, e);
	if (rc == 0)
		rc = rama_shutdown_own_from_segment(own, s, &p, e);
	free(s);
	return rc;
}

/* DARSHAN_INTERNAL_TIMING: seconds of this rank, one phase to a line; `make` is what comes
 * before the first */
static void tell_times(const struct rama_shutdown_result *r, double make, double total)
{
	const struct {
		const char *phase;
		double seconds;
	} row[] = { { "make", make },
		    { "call", r->call },
		    { "aggregate", r->aggregate },
		    { "compress", r->compress },
		    { "store", r->store },
		    { "total", total } };
	char line[1024];
	struct rama_config_text t;

	rama_config_text_init(&t, line, sizeof(line));
	rama_config_text_str(&t, "#iorama:<op>\t<nprocs>\t<time>\n");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint64_t us = row[i].seconds > 0 ? (uint64_t)(row[i].seconds * 1e6) : 0;

		rama_config_text_str(&t, "iorama:");
		rama_config_text_str(&t, row[i].phase);
		rama_config_text_str(&t, "\t");
		rama_config_text_i64(&t, rama_cap_mpi.size);
		rama_config_text_str(&t, "\t");
		rama_config_text_u64(&t, us / 1000000);
		rama_config_text_str(&t, ".");
		for (uint64_t digit = 100000; digit > 0; digit /= 10)
			rama_config_text_u64(&t, us / digit % 10);
		rama_config_text_str(&t, "\n");
	}
	rama_cap_sys3(SYS_write, STDERR_FILENO, line, t.len);
}

/* The one thing that a job says by itself, on rank 0: who named the file expects a log there. */
static void tell_existing(const char *path)
{
	const char *slash = strrchr(rama_cap_run.path, '/');
	char line[9000];
	struct rama_config_text t;

	rama_config_text_init(&t, line, sizeof(line));
	rama_config_text_str(&t, "iorama: ");
	rama_config_text_str(&t, path);
	rama_config_text_str(&t, " exists and is left as it is; iorama recover ");
	rama_config_text_put(&t, rama_cap_run.path,
			     slash ? (size_t)(slash - rama_cap_run.path) : 0);
	rama_config_text_str(&t, " makes the log of this job\n");
	rama_cap_sys3(SYS_write, STDERR_FILENO, line, t.len);
}

/* ---- where to -------------------------------------------------------------------------------- */

/* Is the directory the one that `iorama run` sees? `id`: its number and the second in which it
 * was made there, 0 if that is not known. Nodes may have disks of their own under the same name. */
static bool is_same(const char *dir, const char *id)
{
	struct statx st;
	int64_t number = 0, born = 0;
	size_t n = rama_config_piece_integer((struct rama_config_piece){ id, strlen(id) }, &number);

	if (n == 0 || id[n] != '.' ||
	    rama_config_piece_integer((struct rama_config_piece){ id + n + 1, strlen(id + n + 1) },
				      &born) == 0)
		return false;
	if (rama_cap_sys6(SYS_statx, AT_FDCWD, (long)dir, 0, STATX_INO | STATX_BTIME, (long)&st,
			  0) != 0)
		return false;
	if (born > 0 && st.stx_mask & STATX_BTIME && st.stx_btime.tv_sec != born)
		return false;
	return (int64_t)st.stx_ino == number;
}

/* IORAMA_RUN_LOG=ID:PATH; PATH is what the names of logs for `iorama run` begin with. */
static bool path_for_run(char *to, size_t size)
{
	const char *given = rama_cap_variable("IORAMA_RUN_LOG"),
		   *path = given ? strchr(given, ':') : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;
	struct rama_config_text t;

	if (!slash)
		return false;
	rama_config_text_init(&t, to, size);
	rama_config_text_put(&t, path + 1, (size_t)(slash - path));
	if (t.cut || (!rama_cap_by_run() && !is_same(to, given)))
		return false;
	rama_config_text_str(&t, slash + 1);
	rama_config_text_str(&t, ".");
	rama_config_text_i64(&t, rama_cap_run.pid);
	rama_config_text_str(&t, ".darshan");
	return !t.cut;
}

static bool find_path(char *to, size_t size)
{
	return rama_cap_run.bare ? rama_cap_log_path(to, size) : path_for_run(to, size);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int write_together(struct rama_cap_mpi_post *p, double limit)
{
	static char path[4096];
	struct rama_shutdown_comm comm = { rama_cap_mpi.rank, rama_cap_mpi.size, rama_cap_mpi_send,
					   rama_cap_mpi_recv, rama_cap_mpi_now,	 p };
	struct rama_shutdown_disk disk;
	struct rama_shutdown_options opt = {
		.limit = limit,
		.writers = (unsigned)rama_cap_mpi_number("IORAMA_WRITERS", RAMA_SHUTDOWN_WRITERS),
		.unreduced = rama_cap_run.settings->keep_ranks,
		.single = rama_cap_mpi.size == 1,
		.keep_last = (rama_cap_run.id->flags & RAMA_SEG_KEEP_LAST) != 0,
		.level = 3
	};
	struct rama_shutdown_result result;
	struct rama_shutdown_own own = { 0 };
	struct rama_err e;
	double begin = rama_cap_mpi_now(NULL), made;
	bool have = make_own(&own, &e) == 0;

	if (rama_cap_mpi.rank == 0 && !find_path(path, sizeof(path)))
		path[0] = '\0';
	opt.file = rama_shutdown_disk_file(&disk, path);
	made = rama_cap_mpi_now(NULL);
	int rc = rama_shutdown(&comm, have ? &own : NULL, &opt, &result, &e);
	rama_shutdown_own_fini(&own);
	if (disk.in_the_way)
		tell_existing(path);
	for (double until = rama_cap_mpi_now(NULL) + LETTERS_LIMIT;
	     !rama_cap_mpi_collect(p) && rama_cap_mpi_now(NULL) < until;)
		rama_cap_rest(2000);
	if (rama_cap_run.settings->timing && rama_cap_mpi.rank == 0)
		tell_times(&result, made - begin, rama_cap_mpi_now(NULL) - begin);
	return rc;
}

/* Under `iorama run` only if it cannot find the segments of all ranks. */
static bool is_ours_to_do(void)
{
	return rama_cap_run.bare || !rama_cap_mpi_all(rama_cap_by_run());
}

void rama_cap_mpi_shutdown(void)
{
	double limit =
		(double)rama_cap_mpi_number("IORAMA_SHUTDOWN_LIMIT", (int64_t)RAMA_SHUTDOWN_LIMIT);
	struct rama_cap_mpi_quiet q;

	/* a rank that is quiet has nothing to give, but the others have to know */
	if (!rama_cap_mpi_post.met || rama_cap_run.logged || !(rama_cap_quiet || rama_cap_awake()))
		return;
	rama_cap_uring_last_sight();
	rama_cap_mpi_hush(&q);
	wait_for_all(limit);
	if (rama_cap_mpi_all(!rama_cap_quiet) && is_ours_to_do()) {
		rama_cap_clock_pair(&rama_cap_run.id->clock.tick1, &rama_cap_run.id->clock.mono1,
				    &rama_cap_run.id->clock.real1);
		rama_cap_usage_end();
		if (write_together(&rama_cap_mpi_post, limit) == 0) {
			rama_cap_run.logged = true;
			rama_cap_remove_segment();
		}
	}
	rama_cap_mpi_unhush(&q);
}
