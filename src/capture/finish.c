/* SPDX-License-Identifier: BSD-3-Clause */
/* finish.c: bare preload: at its end the process turns its own segment into a log. Then the
 * segment goes, also if the log could not be written: nobody would ever take it away, and the
 * same is true of every program that is started that way. What could not be written is counted
 * beside the segments, where `iorama doctor` finds it. */
#include <sys/file.h>
#include <time.h>

#include "capture/before.h"
#include "capture/place.h"
#include "config/logname.h"
#include "config/text.h"
#include "gather/gather.h"

static char log_path[4096];
static long failure; /* errno of what went wrong last */

/* ---- the calendar, without the C library's locks --------------------------------------------- */

/* Days since 1970 to a date, by eras of 400 years that begin in March. */
static void civil(int64_t seconds, struct tm *tm)
{
	int64_t day = seconds / 86400, rest = seconds % 86400;
	if (rest < 0) {
		rest += 86400;
		day--;
	}
	int64_t z = day + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097, yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

	memset(tm, 0, sizeof(*tm));
	tm->tm_mday = (int)(doy - (153 * mp + 2) / 5 + 1);
	tm->tm_mon = (int)(mp < 10 ? mp + 2 : mp - 10);
	tm->tm_year = (int)(yoe + era * 400 + (tm->tm_mon <= 1) - 1900);
	tm->tm_hour = (int)(rest / 3600);
	tm->tm_min = (int)(rest / 60 % 60);
	tm->tm_sec = (int)(rest % 60);
}

void rama_cap_note_zone(void)
{
	time_t now = (time_t)(rama_cap_run.id->clock.real0 / 1000000000u);
	struct tm tm;

	if (localtime_r(&now, &tm))
		rama_cap_run.zone = tm.tm_gmtoff;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int sink_write(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	int fd = *(int *)ctx;
	const char *p = bytes;

	if (off + n > rama_cap_file_limit()) {
		failure = EFBIG;
		return rama_err_set(e, RAMA_EIO, "the log is larger than a file may be");
	}
	while (n > 0) {
		long done = rama_cap_sys6(SYS_pwrite64, fd, (long)p, (long)n, (long)off, 0, 0);
		if (done == -EINTR)
			continue;
		if (done <= 0) {
			failure = done < 0 ? -done : ENOSPC;
			return rama_err_set(e, RAMA_EIO, "cannot write the log");
		}
		p += done;
		off += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

static int write_all(int fd)
{
	struct rama_source src;
	static struct rama_seg seg; /* large, and stacks are small */
	static struct rama_log_writer w;
	struct rama_log_sink sink = { sink_write, &fd };
	bool quiet = (rama_cap_run.id->flags & RAMA_SEG_QUIET) != 0;
	struct rama_gather_process p = { .parent_rank = -1,
					 .nprocs = 1,
					 .images = 1,
					 .ended = quiet ? RAMA_GATHER_ENDED_QUIET : 1,
					 .incomplete = quiet };
	struct rama_err e;
	uint64_t partial = 0;

	if (!rama_cap_run.path[0])
		p.note = RAMA_LOG_META_PLACE "memory\n";
	rama_cap_sys3(SYS_fchmod, fd, 0400, 0); /* whatever the mask of the process is */
	if (rama_cap_before_count() > 0) {
		const struct rama_cap_before_how how = { &sink, 0, 3, &p, false };

		if (rama_cap_before_write(&how) == 0)
			return 0;
		rama_cap_sys3(SYS_ftruncate, fd, 0, 0); /* at least what we are ourselves */
	}
	rama_cap_memory_source(&src);
	int rc = rama_seg_open(&seg, &src, &e);
	if (rc == 0)
		rc = rama_log_writer_init(&w, &sink, 0, 3);
	if (rc == 0) {
		rc = rama_gather_one(&seg, &p, &w, &partial, &e);
		if (rc == 0)
			rc = rama_log_writer_finish(&w, partial);
		rama_log_writer_fini(&w);
	}
	return rc;
}

static void describe(struct rama_config_logname *n)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*n = (struct rama_config_logname){ .user = rama_cap_variable("LOGNAME"),
					   .uid = (uint64_t)rama_cap_sys3(SYS_geteuid, 0, 0, 0),
					   .exe = rama_cap_run.id->exe,
					   .jobid = rama_cap_run.id->jobid,
					   .pid = rama_cap_run.pid,
					   .host = rama_cap_run.id->host,
					   .end_us = (uint64_t)now.tv_sec * 1000000u +
						     (uint64_t)now.tv_nsec / 1000u };
	civil((int64_t)(rama_cap_run.id->clock.real0 / 1000000000u) + rama_cap_run.zone, &n->start);
}

/* the directory the log goes to, with a slash; false: there is none */
static bool folder(struct rama_config_text *t, const struct rama_config_logname *n)
{
	const struct rama_config_settings *s = rama_cap_run.settings;

	if (s->log_dir[0]) {
		rama_config_text_str(t, s->log_dir);
	} else if (s->log_path[0]) {
		t->len = rama_config_logname_folder(t->p, t->room, s->log_path, &n->start);
		if (t->len == 0)
			return false;
	} else {
		rama_config_text_str(t, rama_cap_run.start_dir);
	}
	rama_config_text_str(t, "/");
	return !t->cut;
}

/* in one directory: written under the partial name, renamed when complete */
static bool write_named(void)
{
	static char partial[4096];
	struct rama_config_logname n;
	struct rama_config_text t;

	describe(&n);
	rama_config_text_init(&t, partial, sizeof(partial));
	if (!folder(&t, &n) || t.len + 2 * RAMA_CONFIG_LOGNAME_MOST > sizeof(partial)) {
		failure = ENAMETOOLONG;
		return false;
	}
	memcpy(log_path, partial, t.len + 1); /* if it fails, that is where */
	size_t stem = t.len;
	rama_config_logname_partial(partial + stem, sizeof(partial) - stem, &n);
	int fd = rama_cap_sys_open(partial, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0400);
	if (fd < 0) {
		failure = -fd;
		return false;
	}
	int rc = write_all(fd);
	rama_cap_sys_close(fd);
	memcpy(log_path, partial, stem);
	rama_config_logname_final(log_path + stem, sizeof(log_path) - stem, &n, 0);
	if (rc == 0 && rama_cap_sys6(SYS_renameat2, AT_FDCWD, (long)partial, AT_FDCWD,
				     (long)log_path, 1 /* RENAME_NOREPLACE */, 0) != 0)
		rc = (int)rama_cap_sys6(SYS_renameat2, AT_FDCWD, (long)partial, AT_FDCWD,
					(long)log_path, 0, 0);
	if (rc != 0)
		rama_cap_sys3(SYS_unlinkat, AT_FDCWD, partial, 0);
	return rc == 0;
}

/* this very file, which must not exist */
static bool write_given(const char *path)
{
	int fd = rama_cap_sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0400);
	struct rama_config_text t;

	rama_config_text_init(&t, log_path, sizeof(log_path));
	rama_config_text_str(&t, path);
	if (fd < 0) {
		failure = -fd;
		return false;
	}
	int rc = write_all(fd);
	rama_cap_sys_close(fd);
	if (rc != 0)
		rama_cap_sys3(SYS_unlinkat, AT_FDCWD, path, 0);
	return rc == 0;
}

bool rama_cap_log_path(char *to, size_t size)
{
	const char *given = rama_cap_run.settings->log_file;
	struct rama_config_logname n;
	struct rama_config_text t;

	rama_config_text_init(&t, to, size);
	if (given[0]) {
		rama_config_text_str(&t, given);
		return !t.cut;
	}
	describe(&n);
	if (!folder(&t, &n) || t.len + RAMA_CONFIG_LOGNAME_MOST > size)
		return false;
	rama_config_logname_final(to + t.len, size - t.len, &n, 0);
	return true;
}

const char *rama_cap_log_written(void)
{
	return log_path[0] ? log_path : NULL;
}

static int64_t bytes_moved(void)
{
	static const enum rama_seg_layer layers[] = { RAMA_SEG_LAYER_POSIX, RAMA_SEG_LAYER_STDIO };
	int64_t sum = 0;

	for (uint32_t i = 0; i < rama_cap_run.state->lanes_used; i++) {
		const struct rama_seg_lane *l = rama_cap_memory_lane(i, false);

		for (unsigned k = 0; l && k < 2; k++)
			for (unsigned b = 0; b < RAMA_CORE_HEAT_BINS; b++)
				sum += l->heat[layers[k]].bytes[0][b] +
				       l->heat[layers[k]].bytes[1][b];
	}
	return sum;
}

bool rama_cap_is_small(void)
{
	const struct rama_config_settings *s = rama_cap_run.settings;
	const struct rama_seg_ticks *c = &rama_cap_run.id->clock;

	if ((s->least_bytes == 0 && s->least_seconds <= 0) || rama_cap_run.logged ||
	    rama_cap_run.id->rank >= 0 || rama_cap_before_count() > 0 ||
	    rama_cap_variable("IORAMA_RUN_HOST"))
		return false;
	if (s->least_seconds > 0 && (double)(c->mono1 - c->mono0) >= s->least_seconds * 1e9)
		return false;
	/* bytes are known by heat maps */
	return s->least_bytes == 0 || (rama_config_settings_module(s, RAMA_TAB_MOD_HEATMAP) &&
				       bytes_moved() < (int64_t)s->least_bytes);
}

bool rama_cap_write_log(void)
{
	const char *given = rama_cap_run.settings->log_file;

	log_path[0] = '\0';
	failure = EIO;
	bool written = given[0] ? write_given(given) : write_named();
	if (!written) {
		rama_cap_unwritten(failure, log_path);
		log_path[0] = '\0'; /* it is not ours to remove */
	}
	/* Ranks have told where they are when the file that should be their log was somebody's. */
	if (written || failure != EEXIST || !rama_cap_run.job[0])
		rama_cap_remove_segment();
	return written;
}

/* Does somebody hold the lock of this directory's file .agent? `len`: of the directory's path,
 * which rama_cap_run.path begins with. */
static bool is_watched(size_t len)
{
	static char path[4096];
	struct rama_config_text t;

	rama_config_text_init(&t, path, sizeof(path));
	rama_config_text_put(&t, rama_cap_run.path, len);
	rama_config_text_str(&t, "/.agent");
	int fd = t.cut ? -1 : rama_cap_sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return false;
	bool held = rama_cap_sys3(SYS_flock, fd, LOCK_SH | LOCK_NB, 0) == -EWOULDBLOCK;
	rama_cap_sys_close(fd); /* and our lock with it */
	return held;
}

/* An agent watches all jobs of this user, or this one. */
static bool agent_watches(void)
{
	const char *job = strrchr(rama_cap_run.path, '/'), *root = job;

	while (root && root > rama_cap_run.path && *--root != '/')
		;
	return job && root &&
	       (is_watched((size_t)(root - rama_cap_run.path)) ||
		is_watched((size_t)(job - rama_cap_run.path)));
}

/* Has an agent told of it, or are there live events that nobody has taken yet, but somebody will?
 * Then it is his to remove. Also if that agent has ended, or was killed: the next one finds the
 * last events, and what the counters stand at in the end. */
static bool is_awaited(void)
{
	uint64_t left = 0;

	for (uint32_t i = 0; i < rama_cap_run.state->lanes_used; i++) {
		const struct rama_seg_lane *l = rama_cap_memory_lane(i, false);
		uint64_t made = l ? __atomic_load_n(&l->made, __ATOMIC_RELAXED) : 0;
		uint64_t taken = __atomic_load_n(&rama_cap_run.control->taken[i], __ATOMIC_RELAXED);

		left += made > taken ? made - taken : 0;
	}
	return __atomic_load_n(&rama_cap_run.control->reader, __ATOMIC_RELAXED) != 0 ||
	       __atomic_load_n(&rama_cap_run.control->beat, __ATOMIC_RELAXED) != 0 ||
	       (left > 0 && agent_watches());
}

void rama_cap_remove_segment(void)
{
	rama_cap_before_remove();
	if (!rama_cap_run.path[0]) /* it has no file */
		return;
	if (is_awaited()) {
		__atomic_fetch_or(&rama_cap_run.id->flags, RAMA_SEG_LOGGED, __ATOMIC_RELEASE);
		return;
	}
	rama_cap_sys3(SYS_unlinkat, AT_FDCWD, rama_cap_run.path, 0);
	rama_cap_run.unlinked = true;
	/* the directory of the job goes with its last segment */
	char *slash = strrchr(rama_cap_run.path, '/');
	if (slash && slash != rama_cap_run.path) {
		*slash = '\0';
		rama_cap_sys3(SYS_unlinkat, AT_FDCWD, rama_cap_run.path, AT_REMOVEDIR);
		*slash = '/';
	}
}

void rama_cap_unwrite_log(void)
{
	__atomic_fetch_and(&rama_cap_run.id->flags, ~(uint32_t)RAMA_SEG_LOGGED, __ATOMIC_RELEASE);
	if (log_path[0])
		rama_cap_sys3(SYS_unlinkat, AT_FDCWD, log_path, 0);
	log_path[0] = '\0';
}
