/* SPDX-License-Identifier: BSD-3-Clause */
/* md.c: many small files: made, looked at, read and removed again, one kind of call after the
 * other, each phase between two barriers. Every rank has a folder of its own; --shift makes it
 * look at and read those of another rank. Files are called as incomplete ones of this run
 * (NAME.RUN.part): nobody else has such names, and what a killed run leaves is removed by the
 * next one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/human.h"
#include "emulate/emulate.h"

enum phase { CREATE, STAT, READ, UNLINK, PHASES };
static const char *const phase_name[PHASES] = { "create", "stat", "read", "unlink" };

#define AT_A_TIME 256 /* steps */
#define LIMITED 8     /* ... when each may be the last */
#define BYTES_MOST (1 << 24)

struct md {
	struct rama_emu_emulation *m;
	uint64_t files;		     /* of each rank, at most */
	uint64_t made, theirs, all;  /* files of this rank, of the one that is looked at, of all */
	struct rama_emu_limit limit; /* of creating */
	size_t size;		     /* bytes of each file */
	char *data, *back;
	const char *top;
	char run[RAMA_EMU_OWN_RUN + 8]; /* what names end with */
	int mine, other;		/* folders */
	uint32_t owner;			/* rank whose files are looked at */
	enum phase phase;
	uint64_t next; /* files of this phase that have their steps */
	bool begun;
	double since, seconds[PHASES];
};

static void name_of(const struct md *x, uint64_t i, char *to, size_t room)
{
	snprintf(to, room, "f.%llu%s", (unsigned long long)i, x->run);
}

static void folder_of(const struct md *x, uint32_t rank, char *to, size_t room)
{
	snprintf(to, room, "%.4000s/md.%u", x->top, rank);
}

static int failed(const struct md *x, const char *what, const char *name, struct rama_err *e)
{
	return rama_err_set(e, RAMA_EIO, "%.300s: %s: %s: %s", x->top, name, what, strerror(errno));
}

/* ---- one call ------------------------------------------------------------------------------- */

static int create(struct md *x, const char *name, struct rama_err *e)
{
	int fd = openat(x->mine, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	int rc = 0;

	if (fd < 0)
		return failed(x, "create", name, e);
	x->made++;
	if (x->size > 0 && write(fd, x->data, x->size) != (ssize_t)x->size)
		rc = failed(x, "write", name, e);
	if (close(fd) != 0 && rc == 0)
		rc = failed(x, "close", name, e);
	return rc;
}

static int read_one(struct md *x, const char *name, struct rama_err *e)
{
	int fd = openat(x->other, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), rc = 0;
	ssize_t n;

	if (fd < 0)
		return failed(x, "open", name, e);
	n = read(fd, x->back, x->size + 1);
	if (n < 0)
		rc = failed(x, "read", name, e);
	else if ((size_t)n != x->size || memcmp(x->back, x->data, x->size) != 0)
		rc = rama_err_set(e, RAMA_ECORRUPT, "%.300s: %s: it is not what was written",
				  x->top, name);
	close(fd);
	return rc;
}

static int call(void *ctx, struct rama_emu_step *s, struct rama_err *e)
{
	struct md *x = ctx;
	char name[64];
	struct stat st;

	name_of(x, (uint64_t)s->offset, name, sizeof(name));
	switch ((enum phase)s->flags) {
	case CREATE:
		return create(x, name, e);
	case STAT:
		if (fstatat(x->other, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			return failed(x, "stat", name, e);
		return st.st_size == (off_t)x->size ? 0 : failed(x, "size", name, e);
	case READ:
		return read_one(x, name, e);
	default:
		return unlinkat(x->mine, name, 0) == 0 ? 0 : failed(x, "unlink", name, e);
	}
}

/* ---- phases --------------------------------------------------------------------------------- */

static int clock_in(void *ctx, struct rama_emu_step *s, struct rama_err *e)
{
	struct md *x = ctx;

	(void)e;
	if (s->flags < PHASES)
		x->since = rama_now();
	else
		x->seconds[s->flags - PHASES] = rama_now() - x->since;
	return 0;
}

static void add_clock(struct md *x, struct rama_emu_script *s, int flags)
{
	struct rama_emu_step *step = rama_emu_script_step(s, RAMA_EMU_DO_CALL, NULL);

	step->call = clock_in;
	step->ctx = x;
	step->flags = flags;
}

/* How many files there are is known when all are made, or time is over. */
static int count_files(void *ctx, struct rama_emu_step *s, struct rama_err *e)
{
	struct md *x = ctx;
	struct rama_emu_team *t = x->m->team;
	uint64_t *counts = calloc((size_t)t->size, sizeof(*counts));
	size_t *lens = NULL;
	char *all = NULL;
	int rc = counts != NULL ? 0 : rama_err_set(e, RAMA_EMEMORY, "no memory");

	(void)s;
	if (rc == 0)
		rc = rama_emu_team_gather(t, &x->made, sizeof(x->made), &all, &lens, e);
	if (all != NULL)
		memcpy(counts, all, (size_t)t->size * sizeof(*counts));
	if (rc == 0)
		rc = rama_emu_team_bcast(t, counts, (size_t)t->size * sizeof(*counts), e);
	for (int r = 0; rc == 0 && r < t->size; r++)
		x->all += counts[r];
	if (rc == 0)
		x->theirs = counts[x->owner];
	free(counts);
	free(all);
	free(lens);
	return rc;
}

static void add_call(struct rama_emu_script *s, void *ctx,
		     int (*fn)(void *ctx, struct rama_emu_step *s, struct rama_err *e))
{
	struct rama_emu_step *step = rama_emu_script_step(s, RAMA_EMU_DO_CALL, NULL);

	step->call = fn;
	step->ctx = ctx;
}

/* Is there another file for this phase? */
static bool one_more(struct md *x)
{
	if (x->phase != CREATE)
		return x->next < (x->phase == UNLINK ? x->made : x->theirs);
	if (x->next >= x->files)
		return false;
	if (x->limit.seconds <= 0 || (!x->limit.over && !rama_emu_limit_over(&x->limit)))
		return true;
	return rama_emu_limit_goes_on(&x->limit);
}

static void add_files(struct md *x, struct rama_emu_script *s)
{
	int most = x->limit.seconds > 0 && x->phase == CREATE ? LIMITED : AT_A_TIME;

	for (int i = 0; i < most && one_more(x); i++) {
		struct rama_emu_step *step = rama_emu_script_step(s, RAMA_EMU_DO_META, NULL);

		step->call = call;
		step->ctx = x;
		step->flags = (int)x->phase;
		step->offset = (int64_t)x->next++;
		x->limit.done += x->phase == CREATE;
	}
}

/* Between two barriers: a phase takes as long as its slowest rank. */
static int next_calls(struct rama_emu_script *s, void *ctx, struct rama_err *e)
{
	struct md *x = ctx;

	(void)e;
	rama_emu_script_clear(s);
	if (x->phase == PHASES)
		return 0;
	if (!x->begun) {
		rama_emu_script_begin(s, x->phase, 0);
		rama_emu_script_step(s, RAMA_EMU_DO_BARRIER, NULL);
		add_clock(x, s, (int)x->phase);
		x->begun = true;
		x->next = 0;
		return 1; /* time counts from here */
	}
	add_files(x, s);
	if (one_more(x))
		return 1;
	if (x->phase == CREATE && x->limit.wear_out && !x->limit.agreed) {
		add_call(s, &x->limit, rama_emu_limit_agree);
	} else {
		rama_emu_script_step(s, RAMA_EMU_DO_BARRIER, NULL);
		add_clock(x, s, PHASES + (int)x->phase);
		if (x->phase == CREATE)
			add_call(s, x, count_files);
		rama_emu_script_step(s, RAMA_EMU_DO_END, NULL);
		x->phase++;
		x->begun = false;
	}
	return 1;
}

/* ---- before and after ----------------------------------------------------------------------- */

/* The folder is noted in the list of the place as soon as a file of this run is made in it. */
static int open_mine(struct md *x, struct rama_err *e)
{
	char folder[RAMA_EMU_OWN_PATH], first[RAMA_EMU_OWN_PATH], part[RAMA_EMU_OWN_PATH];
	int rc, fd;

	folder_of(x, (uint32_t)x->m->team->rank, folder, sizeof(folder));
	rc = rama_emu_own_folder(x->m->opt.own, folder, e);
	if (rc < 0)
		return rc;
	if (rc > 0)
		rama_emu_own_rmdir(x->m->opt.own, folder);
	snprintf(first, sizeof(first), "%.4400s/first", folder);
	if (rama_emu_own_partial(x->m->opt.own, first, part, sizeof(part)) == NULL)
		return rama_err_set(e, RAMA_EUSAGE, "%.100s...: name too long", folder);
	snprintf(x->run, sizeof(x->run), "%s", part + strlen(first));
	fd = rama_emu_own_open(x->m->opt.own, part, O_WRONLY | O_CREAT);
	if (fd < 0)
		return failed(x, "create", folder, e);
	close(fd);
	rama_emu_own_drop(x->m->opt.own, first);
	x->mine = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return x->mine >= 0 ? 0 : failed(x, "open", folder, e);
}

static int open_other(struct md *x, struct rama_err *e)
{
	char folder[RAMA_EMU_OWN_PATH];

	folder_of(x, x->owner, folder, sizeof(folder));
	x->other = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return x->other >= 0 ? 0 : failed(x, "open", folder, e);
}

static int prepare(struct md *x, struct rama_err *e)
{
	struct rama_emu_own *own = x->m->opt.own;
	struct rama_emu_team *t = x->m->team;
	char path[RAMA_EMU_OWN_PATH];
	int rc = rama_emu_own_where(own, x->top, e);

	snprintf(path, sizeof(path), "%.4000s/md", x->top);
	rama_emu_own_need(own, path, (int64_t)(x->files * x->size));
	if (rc == 0)
		rc = rama_emu_own_room(own, t, e);
	if (rc == 0 && t->rank == 0)
		rc = rama_emu_own_folders(own, x->top, e);
	if (rc == 0)
		rc = rama_emu_team_barrier(t, e);
	if (rc == 0)
		rc = rama_emu_emulation_enter(x->m, t->rank == 0, e);
	if (rc == 0)
		rc = open_mine(x, e);
	if (rc == 0)
		rc = rama_emu_team_barrier(t, e);
	return rc == 0 ? open_other(x, e) : rc;
}

static void note(const struct md *x)
{
	struct rama_emu_emulation *m = x->m;
	double all = (double)x->all;
	bool cut = x->all < x->files * (uint64_t)m->team->size;
	char a[RAMA_HUMAN], b[RAMA_HUMAN];

	rama_out_text(&m->notes, "\"phases\":{");
	rama_out_fmt(&m->remarks, "%s files of %s by %s%d rank%s:",
		     rama_human_count(a, (int64_t)(cut ? x->all : x->files)),
		     rama_human_bytes(b, (double)x->size), cut ? "" : "each of ", m->team->size,
		     m->team->size == 1 ? "" : "s");
	for (int i = 0; i < PHASES; i++) {
		double rate = x->seconds[i] > 0 ? all / x->seconds[i] : 0;

		rama_out_fmt(&m->notes, "%s\"%s\":{\"calls\":%.0f,\"seconds\":%.9g,\"rate\":%.9g}",
			     i > 0 ? "," : "", phase_name[i], all, x->seconds[i], rate);
		rama_out_fmt(&m->remarks, "%s %s %s/s", i > 0 ? "," : "", phase_name[i],
			     rama_human_count(a, (int64_t)rate));
	}
	rama_out_fmt(&m->notes, "},\"file_bytes\":%zu", x->size);
	rama_out_char(&m->remarks, '\n');
	if (x->limit.seconds > 0)
		rama_out_fmt(&m->notes, ",\"limit\":{\"limit_s\":%.9g,\"cut\":%s}",
			     x->limit.seconds, cut ? "true" : "false");
	if (cut)
		rama_out_fmt(&m->remarks, "creating ended after the time limit of %s%s\n",
			     rama_human_seconds(a, x->limit.seconds),
			     x->limit.wear_out ? ", worn out" : "");
}

/* what an error left behind */
static void clear_up(struct md *x)
{
	char name[64];

	for (uint64_t i = 0; x->mine >= 0 && i < x->made; i++) {
		name_of(x, i, name, sizeof(name));
		unlinkat(x->mine, name, 0);
	}
}

static int set_up(struct md *x, struct rama_err *e)
{
	const struct rama_emu_config *c = x->m->cfg;
	int64_t files = rama_emu_config_size(c, RAMA_EMU_P_num_files),
		size = rama_emu_config_size(c, RAMA_EMU_P_file_bytes);
	uint32_t ranks = (uint32_t)x->m->team->size;

	if (files < 1 || files > 1000000000 || size > BYTES_MOST)
		return rama_err_set(e, RAMA_EUSAGE,
				    "num_files: from 1 to 1000000000, file_bytes: up to 16 MiB");
	if (x->m->opt.engine != rama_emu_engine_find("posix"))
		return rama_err_set(e, RAMA_EUSAGE, "md knows calls of POSIX only");
	x->files = (uint64_t)files;
	x->limit.seconds = rama_emu_config_number(c, RAMA_EMU_P_time_limit);
	x->limit.wear_out = x->limit.seconds > 0 && rama_emu_config_flag(c, RAMA_EMU_P_wear_out);
	x->limit.team = x->m->team;
	x->size = (size_t)size;
	x->top = rama_emu_config_text(c, RAMA_EMU_P_input_dir);
	x->owner = (uint32_t)(((uint64_t)x->m->team->rank +
			       (uint64_t)rama_emu_config_size(c, RAMA_EMU_P_shift)) %
			      ranks);
	x->data = malloc(x->size + 1);
	x->back = malloc(x->size + 1);
	if (x->data == NULL || x->back == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	rama_emu_pattern_fill(&(struct rama_emu_pattern){ x->m->opt.seed, 0, 0 }, x->data, x->size,
			      0);
	x->m->task_names = (const char **)phase_name;
	return 0;
}

int rama_emu_mode_md(struct rama_emu_emulation *m, struct rama_err *e)
{
	struct md x = { .m = m, .mine = -1, .other = -1 };
	struct rama_emu_script s;
	int rc = set_up(&x, e);

	rama_emu_script_init(&s);
	s.more = next_calls;
	s.ctx = &x;
	if (rc == 0)
		rc = prepare(&x, e);
	if (rc == 0)
		rc = rama_emu_emulation_stream(m, &s, e);
	if (rc != 0)
		clear_up(&x);
	else if (m->team->rank == 0)
		note(&x);
	rama_emu_script_fini(&s);
	if (x.mine >= 0)
		close(x.mine);
	if (x.other >= 0)
		close(x.other);
	free(x.data);
	free(x.back);
	return rc;
}
