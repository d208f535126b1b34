/* SPDX-License-Identifier: BSD-3-Clause */
/* look.c: finds the segments, follows their processes from look to look, and adds them up to
 * jobs. */
#include "look/look.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "segment/clock.h"
#include "look/known.h"

/* ---- beginning and end ----------------------------------------------------------------------- */

static void machine_now(void *ctx, unsigned source, uint64_t *tick, uint64_t *mono, uint64_t *real)
{
	struct rama_seg_clock_pair pair;

	(void)ctx;
	rama_seg_clock_read((enum rama_seg_clock_source)source, &pair);
	*tick = pair.tick;
	*mono = pair.mono;
	*real = pair.real;
}

static void read_boot(struct rama_look_state_all *all)
{
	char path[512];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/sys/kernel/random/boot_id", all->o.proc);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, all->boot, sizeof(all->boot) - 1);
		close(fd);
	}
	all->boot[n > 0 ? n : 0] = '\0';
	all->boot[strcspn(all->boot, "\n")] = '\0';
}

static int copy_options(struct rama_look_state_all *all, const struct rama_look_options *o)
{
	all->o = *o;
	if (all->o.proc == NULL)
		all->o.proc = "/proc";
	if (all->o.now == NULL)
		all->o.now = machine_now;
	all->dir = calloc(o->n_dirs + 1, sizeof(*all->dir));
	if (all->dir == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < o->n_dirs; i++)
		if ((all->dir[i] = strdup(o->dir[i])) == NULL)
			return RAMA_EMEMORY;
	return 0;
}

int rama_look_create(struct rama_look **to, const struct rama_look_options *o, struct rama_err *e)
{
	struct rama_look *l = calloc(1, sizeof(*l));

	*to = l;
	if (l == NULL)
		return rama_err_no_memory(e);
	l->all = calloc(1, sizeof(*l->all));
	if (l->all == NULL || copy_options(l->all, o) != 0) {
		rama_look_destroy(l);
		*to = NULL;
		return rama_err_no_memory(e);
	}
	read_boot(l->all);
	rama_seg_mapped_guard();
	return 0;
}

static void free_found(struct rama_look_found *f)
{
	rama_look_seg_close(&f->seg);
	free(f);
}

void rama_look_destroy(struct rama_look *l)
{
	struct rama_look_state_all *all = l != NULL ? l->all : NULL;

	for (size_t i = 0; all != NULL && i < all->n; i++)
		free_found(all->found[i]);
	for (size_t i = 0; all != NULL && i < all->n_jobs; i++)
		rama_look_job_free(all->jobs[i]);
	for (size_t i = 0; all != NULL && all->dir != NULL && all->dir[i] != NULL; i++)
		free(all->dir[i]);
	if (all != NULL) {
		free(all->found);
		free(all->jobs);
		free(all->dir);
		rama_map_fini(&all->by_id);
		rama_map_fini(&all->job_by_id);
	}
	free(all);
	if (l != NULL)
		free(l->job);
	free(l);
}

/* ---- finding segments ------------------------------------------------------------------------ */

static struct rama_look_job *new_job(struct rama_look_state_all *all, const struct stat *st,
				     const char *dir)
{
	struct rama_look_job *j = calloc(1, sizeof(*j));
	const char *name = strrchr(dir, '/') != NULL ? strrchr(dir, '/') + 1 : dir;
	const struct rama_look_find_id id = { st->st_dev, st->st_ino };
	uint64_t *at;
	bool fresh;

	if (j == NULL || (j->past = calloc(1, sizeof(*j->past))) == NULL ||
	    !RAMA_GROW(all->jobs, all->room_jobs, all->n_jobs + 1) ||
	    (at = rama_map_put(&all->job_by_id, rama_look_find_id_hash(&id), &fresh)) == NULL) {
		if (j != NULL)
			rama_look_job_free(j);
		return NULL;
	}
	snprintf(j->dir, sizeof(j->dir), "%s", dir);
	snprintf(j->name, sizeof(j->name), "%s", name);
	snprintf(j->key, sizeof(j->key), "%u/%s", (unsigned)st->st_uid, j->name);
	j->uid = st->st_uid;
	j->past->id = id;
	j->past->there = true;
	all->jobs[all->n_jobs++] = j;
	*at = all->n_jobs;
	return j;
}

/* A job may have several directories: where it found no room it went on elsewhere, under the
 * same name. */
static struct rama_look_job *job_of(struct rama_look_state_all *all, const struct stat *st,
				    const char *dir)
{
	const char *name = strrchr(dir, '/') != NULL ? strrchr(dir, '/') + 1 : dir;
	const struct rama_look_find_id id = { st->st_dev, st->st_ino };
	uint64_t *at = rama_map_get(&all->job_by_id, rama_look_find_id_hash(&id));
	struct rama_look_job *j = NULL;

	if (at != NULL && *at > 0 && rama_look_find_id_same(&all->jobs[*at - 1]->past->id, &id) &&
	    all->jobs[*at - 1]->uid == st->st_uid)
		j = all->jobs[*at - 1];
	for (size_t i = 0; i < all->n_jobs && j == NULL; i++)
		if (all->jobs[i]->uid == st->st_uid && strcmp(all->jobs[i]->name, name) == 0 &&
		    strncmp(name, "run-", 4) == 0)
			j = all->jobs[i];
	if (j == NULL)
		return new_job(all, st, dir);
	j->past->there = true;
	return j;
}

static void copy_identity(struct rama_look_found *f)
{
	const struct rama_seg_identity *id = &f->seg.map.seg.id;
	struct rama_look_process *p = &f->p;

	p->pid = id->pid;
	p->uid = id->uid;
	p->jobid = id->jobid;
	p->start = (int64_t)id->clock.real0;
	f->pid_start = id->pid_start;
	p->mpi = id->rank >= 0 && id->nprocs > 0;
	snprintf(p->host, sizeof(p->host), "%s", id->host);
	snprintf(p->exe, sizeof(p->exe), "%.*s", (int)sizeof(p->exe) - 1, id->exe);
	snprintf(p->command, sizeof(p->command), "%.*s", (int)sizeof(p->command) - 1, id->command);
}

static int add_segment(struct rama_look_state_all *all, struct rama_look_job *j, const char *path,
		       const struct rama_look_find_id *id)
{
	struct rama_look_found *f = calloc(1, sizeof(*f));
	struct rama_err why = { 0 };
	uint64_t *at;
	bool fresh;

	if (f == NULL || !RAMA_GROW(all->found, all->room, all->n + 1) ||
	    (at = rama_map_put(&all->by_id, rama_look_find_id_hash(id), &fresh)) == NULL) {
		free(f);
		return RAMA_EMEMORY;
	}
	all->found[all->n++] = f;
	*at = all->n;
	f->id = *id;
	f->job = j;
	f->there = f->fresh = true;
	f->p.seg = &f->seg;
	f->p.number = ++all->number;
	f->seg.open = rama_seg_mapped_open(&f->seg.map, path, (uint32_t)j->uid, false, &why) == 0;
	f->bad = !f->seg.open;
	if (f->bad)
		return 0;
	copy_identity(f);
	f->p.here = all->boot[0] != '\0' && strcmp(all->boot, f->seg.map.seg.id.boot) == 0;
	return 0;
}

/* A segment that moved to another job of its user, once its MPI told it which, belongs there
 * from now on. */
static int see_segment(struct rama_look_state_all *all, struct rama_look_job *j, const char *dir,
		       uint64_t dev, const struct dirent *entry)
{
	const struct rama_look_find_id id = { dev, entry->d_ino };
	uint64_t *at = rama_map_get(&all->by_id, rama_look_find_id_hash(&id));
	char path[1024];

	if (at != NULL && *at > 0 && rama_look_find_id_same(&all->found[*at - 1]->id, &id)) {
		struct rama_look_found *f = all->found[*at - 1];

		f->there = true;
		if (!f->closed && f->job != j && f->job->uid == j->uid) {
			f->job = j;
			f->order = 0;
		}
		return 0;
	}
	if (all->n >= RAMA_LOOK_PROCESSES ||
	    snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) >= (int)sizeof(path))
		return 0;
	return add_segment(all, j, path, &id);
}

static bool is_segment(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 4 && strcmp(entry->d_name + n - 4, ".seg") == 0 &&
	       (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN);
}

static bool may_look(const struct rama_look_state_all *all, const struct stat *st)
{
	return S_ISDIR(st->st_mode) && (all->o.uid == UINT32_MAX || st->st_uid == all->o.uid);
}

static DIR *open_dir(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 && fstat(fd, st) == 0 ? fdopendir(fd) : NULL;

	if (d == NULL && fd >= 0)
		close(fd);
	return d;
}

static int scan_job(struct rama_look_state_all *all, const char *dir, const struct stat *owner)
{
	struct rama_look_job *j = NULL;
	struct dirent *entry;
	struct stat st;
	DIR *d = open_dir(dir, &st);
	int rc = 0;

	/* a directory in one of somebody else's is not his */
	if (d != NULL && may_look(all, &st) && (owner == NULL || owner->st_uid == st.st_uid))
		while (rc == 0 && (entry = readdir(d)) != NULL)
			if (is_segment(entry)) {
				j = j != NULL ? j : job_of(all, &st, dir);
				rc = j == NULL ? RAMA_EMEMORY
					       : see_segment(all, j, dir, st.st_dev, entry);
			}
	if (d != NULL)
		closedir(d);
	return rc;
}

/* a directory of jobs; it may be the one of a job, too */
static int scan(struct rama_look_state_all *all, const char *dir)
{
	struct dirent *entry;
	struct stat st;
	DIR *d = open_dir(dir, &st);
	char path[480];
	int rc = 0;

	if (d == NULL)
		return 0;
	rc = scan_job(all, dir, NULL);
	while (rc == 0 && may_look(all, &st) && (entry = readdir(d)) != NULL)
		if (entry->d_name[0] != '.' &&
		    (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
		    snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) < (int)sizeof(path))
			rc = scan_job(all, path, &st);
	closedir(d);
	return rc;
}

/* maps of what is known, made anew for each look since things vanish */
static int index_known(struct rama_look_state_all *all)
{
	bool fresh;
	int rc = 0;

	rama_map_fini(&all->by_id);
	rama_map_fini(&all->job_by_id);
	for (size_t i = 0; i < all->n && rc == 0; i++) {
		uint64_t *at = rama_map_put(&all->by_id, rama_look_find_id_hash(&all->found[i]->id),
					    &fresh);

		all->found[i]->there = all->found[i]->fresh = false;
		if (at == NULL)
			rc = RAMA_EMEMORY;
		else
			*at = i + 1;
	}
	for (size_t i = 0; i < all->n_jobs && rc == 0; i++) {
		uint64_t *at = rama_map_put(
			&all->job_by_id, rama_look_find_id_hash(&all->jobs[i]->past->id), &fresh);

		all->jobs[i]->past->there = false;
		if (at == NULL)
			rc = RAMA_EMEMORY;
		else
			*at = i + 1;
	}
	return rc;
}

/* ---- processes ------------------------------------------------------------------------------- */

static bool is_alive(const char *proc, int64_t pid, uint64_t start)
{
	char path[512], line[1024], *p, state;
	unsigned long long began;
	ssize_t n;
	int fd;

	if (pid <= 0 ||
	    snprintf(path, sizeof(path), "%s/%lld/stat", proc, (long long)pid) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, line, sizeof(line) - 1) : -1;
	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = '\0';
	/* its name may hold anything: fields are counted from the last parenthesis on */
	p = strrchr(line, ')');
	if (p == NULL || sscanf(p + 1, " %c", &state) != 1)
		return false;
	for (unsigned field = 2; field < 22 && p != NULL; field++)
		p = strchr(p + 1, ' ');
	if (p == NULL ||
	    sscanf(p, " %llu", &began) != 1) // NOLINT(cert-err34-c): a line of the kernel
		return false;
	return began == start && state != 'Z' && state != 'X';
}

static enum rama_look_state state_of(const struct rama_look_state_all *all,
				     struct rama_look_found *f)
{
	const struct rama_seg *s = &f->seg.map.seg;

	switch (s->state.phase) {
	case RAMA_SEG_DONE:
		return RAMA_LOOK_ENDED;
	case RAMA_SEG_REPLACED:
		return RAMA_LOOK_REPLACED;
	case RAMA_SEG_OFF:
		memcpy(f->p.why, s->state.why, sizeof(f->p.why));
		break;
	default:
		break;
	}
	/* who moved lives; of processes elsewhere it cannot be known */
	if (f->p.here && !f->seg.moved && !is_alive(all->o.proc, f->p.pid, f->pid_start))
		return RAMA_LOOK_KILLED;
	if (rama_seg_mapped_gone(&f->seg.map) || (!f->p.here && !f->there))
		return RAMA_LOOK_KILLED;
	return s->state.phase == RAMA_SEG_OFF ? RAMA_LOOK_OFF : RAMA_LOOK_RUNNING;
}

/* An agent that was killed leaves its number behind; while it works its beat grows. */
static void see_reader(struct rama_look_found *f, const char *proc)
{
	uint32_t beat = f->seg.map.seg.control.beat;
	char path[512];

	if (f->p.live.reader > 0 && beat == f->beat && f->p.here) {
		snprintf(path, sizeof(path), "%s/%lld", proc, (long long)f->p.live.reader);
		if (access(path, F_OK) != 0)
			f->p.live.reader = 0;
	}
	f->beat = beat;
}

static int read_process(struct rama_look *l, struct rama_look_found *f, struct rama_err *e)
{
	struct rama_look_state_all *all = l->all;
	struct rama_look_process *p = &f->p;
	struct rama_err why = { 0 };
	bool before; /* it ran before the last look, which did not see it */
	int rc;

	if (rama_seg_refresh(&f->seg.map.seg, &why) != 0) {
		p->state = RAMA_LOOK_KILLED;
		return 0;
	}
	copy_identity(f);
	p->state = state_of(all, f);
	before = f->fresh && (l->takes == 0 || p->start < (int64_t)all->last_real);
	rc = rama_look_seg_read(p, &all->now, l->interval, before, all->o.proc, e);
	if (rc == 0)
		see_reader(f, all->o.proc);
	if (rama_look_runs(p))
		f->ended_at = 0;
	else if (f->ended_at == 0)
		f->ended_at = all->now.mono;
	p->ended = f->ended_at > 0 ? (double)(all->now.mono - f->ended_at) / RAMA_LOOK_SECOND : 0;
	return rc;
}

/* It is looked at no longer; what it did stays with its job. */
static void put_by(struct rama_look_found *f)
{
	struct rama_look_past *past = f->job->past;

	rama_look_io_add(&past->total, &f->p.total);
	for (unsigned i = 0; i < RAMA_LOOK_LAYERS; i++)
		rama_look_io_add(&past->layer[i], &f->p.layer_total[i]);
	past->live.made += f->p.live.made;
	past->live.dropped += f->p.live.dropped;
	past->live.taken += f->p.live.taken;
	past->longest = f->p.longest > past->longest ? f->p.longest : past->longest;
	f->job->gone++;
	rama_look_seg_close(&f->seg);
	f->closed = true;
}

static int read_all(struct rama_look *l, struct rama_err *e)
{
	struct rama_look_state_all *all = l->all;
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct rama_look_found *f = all->found[i];
		bool first = f->fresh && l->takes == 0;

		if (rc == 0 && !f->bad && !f->closed)
			rc = read_process(l, f, e);
		if (!f->bad && !f->closed && !rama_look_runs(&f->p) &&
		    (f->p.ended > all->o.linger || first))
			put_by(f);
		if ((f->bad || f->closed) && !f->there)
			free_found(f);
		else
			all->found[kept++] = f;
	}
	all->n = kept;
	return rc;
}

/* ---- a look ---------------------------------------------------------------------------------- */

static int take_here(struct rama_look *l, struct rama_err *e)
{
	struct rama_look_state_all *all = l->all;
	struct rama_look_now *now = &all->now;
	int rc = index_known(all);

	for (size_t i = 0; rc == 0 && all->dir[i] != NULL; i++)
		rc = scan(all, all->dir[i]);
	if (rc != 0)
		return rama_err_no_memory(e);
	all->last_real = now->real;
	for (unsigned s = RAMA_SEG_CLOCK_TSC; s >= RAMA_SEG_CLOCK_MONOTONIC; s--)
		all->o.now(all->o.ctx, s, &now->tick[s], &now->mono, &now->real);
	l->time = (int64_t)now->real;
	l->interval = l->takes > 0 && now->mono > all->last_mono
			      ? (double)(now->mono - all->last_mono) / RAMA_LOOK_SECOND
			      : 0;
	all->last_mono = now->mono;
	rc = read_all(l, e);
	if (rc == 0 && rama_look_jobs(l) != 0)
		rc = rama_err_no_memory(e);
	return rc;
}

int rama_look_take(struct rama_look *l, struct rama_err *e)
{
	int rc = l->from != NULL ? l->from(l, e) : take_here(l, e);

	l->takes++;
	return rc;
}
