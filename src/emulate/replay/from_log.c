/* SPDX-License-Identifier: BSD-3-Clause */
/* from_log.c: logs become tasks and what they did with files. A task is a job; or, where the log
 * tells the processes apart, those of a job that run one program together. */
#include "emulate/replay/from_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "core/sum/plan.h"
#include "emulate/replay/replay.h"
#include "logfile/cursor.h"

struct reader {
	struct rama_emu_story *s;
	struct rama_log log;
	struct rama_err *e;
	uint32_t number; /* of the log */
	double start;	 /* of the job, seconds since 1970 */
	size_t first_task;
	uint32_t *task_of;	 /* by rank */
	struct rama_map streams; /* standard streams that are files */
	int64_t nprocs;
};

/* ---- room ----------------------------------------------------------------------------------- */

static int more(void *array, size_t n, size_t *room, size_t size, struct rama_err *e)
{
	if (n == *room && n >= RAMA_EMU_STORY_MOST)
		return rama_err_set(e, RAMA_ELIMIT, "more than %d tasks, files or uses of files",
				    RAMA_EMU_STORY_MOST);
	return rama_grow(array, room, n + 1, size) ? 0 : rama_err_set(e, RAMA_EMEMORY, "no memory");
}

static double sane(double x)
{
	return isfinite(x) && x > 0 ? x : 0;
}

/* ---- programs ------------------------------------------------------------------------------- */

/* Who runs a script is known by the script. */
static bool is_interpreter(const char *name, size_t n)
{
	static const char *const known[] = { "python", "sh",	  "bash",  "dash", "perl",
					     "ruby",   "Rscript", "julia", "node" };

	while (n > 0 && strchr("0123456789.", name[n - 1]) != NULL) /* python3.11 */
		n--;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i]) == n && memcmp(known[i], name, n) == 0)
			return true;
	return false;
}

static size_t base_name(const char **word, size_t n)
{
	const char *slash = memrchr(*word, '/', n);

	if (slash != NULL && slash + 1 < *word + n) {
		n -= (size_t)(slash + 1 - *word);
		*word = slash + 1;
	}
	return n;
}

static const char *program_of(struct reader *r, const char *command, size_t n)
{
	const char *end = command + n, *word = command, *next;
	size_t len = strcspn(command, " \n"), script;

	len = len < n ? len : n;
	next = word + len < end ? word + len + 1 : end;
	len = base_name(&word, len);
	script = next < end ? strcspn(next, " \n") : 0;
	if (script > 0 && next[0] != '-' && is_interpreter(word, len)) {
		word = next;
		len = base_name(&word, script);
	}
	return len > 0 ? rama_arena_text(&r->s->arena, word, len) : "job";
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static int64_t new_task(struct reader *r, const struct rama_emu_story_task *t)
{
	struct rama_emu_story *s = r->s;
	int rc = more(&s->tasks, s->n_tasks, &s->room_tasks, sizeof(*s->tasks), r->e);

	if (rc == 0 && t->program == NULL)
		rc = rama_err_set(r->e, RAMA_EMEMORY, "no memory");
	if (rc != 0)
		return rc;
	s->tasks[s->n_tasks] = *t;
	return (int64_t)s->n_tasks++;
}

/* The same program, started by the same process, at the same time: parts of one task. */
static int64_t task_like(const struct reader *r, const struct rama_emu_story_task *t)
{
	for (size_t i = r->first_task; i < r->s->n_tasks; i++) {
		const struct rama_emu_story_task *x = &r->s->tasks[i];

		if (x->parent == t->parent && strcmp(x->program, t->program) == 0 &&
		    x->start < t->end && t->start < x->end)
			return (int64_t)i;
	}
	return -1;
}

static int add_process(struct reader *r, const struct rama_core_record *rec)
{
	const union rama_core_word *w = rec->w;
	int64_t rank = w[RAMA_TAB_RANK].i, parent = w[RAMA_TAB_PROCESS_PARENT_RANK].i, task = -1;
	struct rama_emu_story_task t = { .log = r->number, .parent = parent };
	const char *command = rec->count[0] > 0 ? rec->array[0][0].b : "";

	if (rank < 0 || rank >= r->nprocs)
		return 0;
	t.start = r->start + sane(w[RAMA_TAB_PROCESS_F_START_TIMESTAMP].f);
	t.end = r->start + sane(w[RAMA_TAB_PROCESS_F_END_TIMESTAMP].f);
	/* a fork is its parent's */
	if (w[RAMA_TAB_PROCESS_FORKED].i == 1 && parent >= 0 && parent < rank)
		task = (int64_t)r->task_of[parent] - 1;
	if (task < 0) {
		t.program = program_of(r, command, strnlen(command, rec->count[0] * 8));
		task = t.program != NULL ? task_like(r, &t) : -1;
	}
	if (task < 0)
		task = new_task(r, &t);
	if (task < 0)
		return (int)task;
	r->s->tasks[task].ranks++;
	r->s->tasks[task].start = fmin(r->s->tasks[task].start, t.start);
	r->s->tasks[task].end = fmax(r->s->tasks[task].end, t.end);
	r->task_of[rank] = (uint32_t)task + 1;
	return 0;
}

static int find_tasks(struct reader *r)
{
	struct rama_emu_story_task all = { .log = r->number, .parent = -1, .start = r->start };
	struct rama_log_cursor c;
	struct rama_core_record *rec;
	int64_t task = -1;
	int rc = rama_log_cursor_open(&c, &r->log, RAMA_TAB_MOD_PROCESS);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &rec)) > 0) {
		rc = add_process(r, rec);
		rc = rc == 0 ? 1 : rc;
	}
	rama_log_cursor_close(&c);
	/* ranks that the log says nothing about: the job as a whole */
	for (int64_t i = 0; rc == 0 && i < r->nprocs; i++) {
		if (r->task_of[i] != 0)
			continue;
		if (task < 0) {
			all.end = r->start + sane(r->log.job.run_time);
			all.program = program_of(r, r->log.job.exe, strlen(r->log.job.exe));
			task = new_task(r, &all);
			rc = task < 0 ? (int)task : 0;
		}
		if (rc == 0) {
			r->s->tasks[task].ranks++;
			r->task_of[i] = (uint32_t)task + 1;
		}
	}
	return rc;
}

/* ---- uses ----------------------------------------------------------------------------------- */

static int64_t find_file(struct reader *r, uint64_t id, const char *name)
{
	struct rama_emu_story *s = r->s;
	bool fresh = false;
	uint64_t *at = rama_map_put(&s->file_by_id, id, &fresh);
	int rc;

	if (at == NULL)
		return rama_err_set(r->e, RAMA_EMEMORY, "no memory");
	if (!fresh)
		return (int64_t)*at;
	rc = more(&s->files, s->n_files, &s->room_files, sizeof(*s->files), r->e);
	if (rc != 0)
		return rc;
	name = rama_arena_text(&s->arena, name, strlen(name));
	if (name == NULL)
		return rama_err_set(r->e, RAMA_EMEMORY, "no memory");
	*at = s->n_files;
	s->files[s->n_files] = (struct rama_emu_story_file){ .id = id, .name = name };
	return (int64_t)s->n_files++;
}

static struct rama_emu_story_use *find_use(struct reader *r, uint32_t task, uint32_t file)
{
	struct rama_emu_story *s = r->s;
	bool fresh = false;
	uint64_t *at = rama_map_put(&s->use_by_key, (uint64_t)task << 32 | file, &fresh);

	if (at == NULL) {
		rama_err_set(r->e, RAMA_EMEMORY, "no memory");
		return NULL;
	}
	if (!fresh)
		return &s->uses[*at];
	if (more(&s->uses, s->n_uses, &s->room_uses, sizeof(*s->uses), r->e) != 0)
		return NULL;
	*at = s->n_uses;
	s->uses[s->n_uses] =
		(struct rama_emu_story_use){ .task = task, .file = file, .request = -1 };
	return &s->uses[s->n_uses++];
}

static void widen(double *from, double *to, double a, double b, double start)
{
	a = start + sane(a);
	b = start + sane(b);
	*from = *from == 0 ? a : fmin(*from, a);
	*to = fmax(*to, fmax(a, b));
}

struct words { /* of a module's record */
	unsigned read_from, read_to, write_from, write_to;
};
static const struct words posix_words = { RAMA_TAB_POSIX_F_READ_START_TIMESTAMP,
					  RAMA_TAB_POSIX_F_READ_END_TIMESTAMP,
					  RAMA_TAB_POSIX_F_WRITE_START_TIMESTAMP,
					  RAMA_TAB_POSIX_F_WRITE_END_TIMESTAMP };
static const struct words stdio_words = { RAMA_TAB_STDIO_F_READ_START_TIMESTAMP,
					  RAMA_TAB_STDIO_F_READ_END_TIMESTAMP,
					  RAMA_TAB_STDIO_F_WRITE_START_TIMESTAMP,
					  RAMA_TAB_STDIO_F_WRITE_END_TIMESTAMP };

static void add_pattern(struct rama_emu_story_use *u, const struct rama_core_plan *p,
			const union rama_core_word *w)
{
	if (p->mod->id != RAMA_TAB_MOD_POSIX)
		return;
	if (w[p->access.count[0]].i > u->often && w[p->access.value[0]].i > 0) {
		u->often = w[p->access.count[0]].i;
		u->request = w[p->access.value[0]].i;
	}
	u->count = rama_core_add(u->count, rama_core_add(w[RAMA_TAB_POSIX_READS].i,
							 w[RAMA_TAB_POSIX_WRITES].i));
	u->in_order = rama_core_add(u->in_order, rama_core_add(w[RAMA_TAB_POSIX_SEQ_READS].i,
							       w[RAMA_TAB_POSIX_SEQ_WRITES].i));
}

/* one record for one task; `share` of its bytes */
static int add_use(struct reader *r, const struct rama_core_plan *p, const union rama_core_word *w,
		   uint32_t task, uint32_t file)
{
	const struct words *k = p->mod->id == RAMA_TAB_MOD_POSIX ? &posix_words : &stdio_words;
	struct rama_emu_story_file *f = &r->s->files[file];
	struct rama_emu_story_use *u = find_use(r, task, file);
	int64_t read = w[p->bytes_read].i, written = w[p->bytes_written].i;

	if (u == NULL)
		return r->e->code;
	if (read > 0) {
		u->read = rama_core_add(u->read, read);
		u->readers += w[RAMA_TAB_RANK].i < 0 ? r->s->tasks[task].ranks : 1;
		widen(&u->read_from, &u->read_to, w[k->read_from].f, w[k->read_to].f, r->start);
		f->size = w[p->max_read].i + 1 > f->size ? w[p->max_read].i + 1 : f->size;
	}
	if (written > 0) {
		u->written = rama_core_add(u->written, written);
		widen(&u->write_from, &u->write_to, w[k->write_from].f, w[k->write_to].f, r->start);
		f->size = w[p->max_written].i + 1 > f->size ? w[p->max_written].i + 1 : f->size;
	}
	add_pattern(u, p, w);
	r->s->tasks[task].io +=
		sane(w[p->read_time].f) + sane(w[p->write_time].f) + sane(w[p->meta_time].f);
	return 0;
}

static int add_record(struct reader *r, const struct rama_core_plan *p,
		      const union rama_core_word *w)
{
	const struct rama_log_name *name = rama_log_name_get(&r->log, w[RAMA_TAB_ID].u);
	int64_t rank = w[RAMA_TAB_RANK].i, file;
	int rc = 0;

	if (name != NULL && name->text[0] == '<' && p->mod->id == RAMA_TAB_MOD_STDIO)
		name = rama_emu_story_stream(&r->log, &r->streams, rank, w[RAMA_TAB_ID].u);
	if (name == NULL || !rama_emu_replay_is_file(name->text) || rank >= r->nprocs ||
	    (w[p->bytes_read].i <= 0 && w[p->bytes_written].i <= 0))
		return 0;
	file = find_file(r, name->id, name->text);
	if (file < 0)
		return (int)file;
	if (rank >= 0)
		return add_use(r, p, w, r->task_of[rank] - 1, (uint32_t)file);
	for (size_t i = r->first_task; rc == 0 && i < r->s->n_tasks; i++) /* shared by all */
		rc = add_use(r, p, w, (uint32_t)i, (uint32_t)file);
	return rc;
}

static int find_uses(struct reader *r, unsigned module)
{
	struct rama_log_cursor c;
	struct rama_core_record *rec;
	struct rama_core_plan plan;
	int rc = rama_log_cursor_open(&c, &r->log, module);

	rama_core_plan_init(&plan, rama_tab_module_get(module));
	while (rc > 0 && (rc = rama_log_cursor_next(&c, &rec)) > 0) {
		rc = add_record(r, &plan, rec->w);
		rc = rc == 0 ? 1 : rc;
	}
	rama_log_cursor_close(&c);
	return rc < 0 ? rc : 0;
}

/* ---- a log ---------------------------------------------------------------------------------- */

static int read_all(struct reader *r)
{
	const struct rama_log_job *j = &r->log.job;
	int rc;

	r->nprocs = j->nprocs;
	if (r->nprocs < 1 || r->nprocs > 1 << 24)
		return rama_err_set(r->e, RAMA_ELIMIT, "%lld processes", (long long)r->nprocs);
	r->task_of = calloc((size_t)r->nprocs, sizeof(*r->task_of));
	if (r->task_of == NULL)
		return rama_err_set(r->e, RAMA_EMEMORY, "no memory");
	r->start = (double)j->start_sec + 1e-9 * (double)j->start_nsec;
	r->first_task = r->s->n_tasks;
	if (j->start_nsec == 0) /* old logs know seconds only */
		r->s->slack = 1;
	rc = find_tasks(r);
	if (rc == 0)
		rc = rama_emu_story_links(r->s, &r->log, &r->streams, r->e);
	if (rc == 0)
		rc = find_uses(r, RAMA_TAB_MOD_POSIX);
	if (rc == 0)
		rc = find_uses(r, RAMA_TAB_MOD_STDIO);
	free(r->task_of);
	rama_map_fini(&r->streams);
	return rc;
}

static int read_log(struct rama_emu_story *s, const char *path, uint32_t number, struct rama_err *e)
{
	struct rama_log_options opt = { .strict = true };
	struct reader r = { .s = s, .number = number, .e = e };
	struct rama_file file;
	int rc = rama_file_open(&file, path, e);

	if (rc != 0)
		return rama_err_prefix(e, "%s", path);
	rc = rama_log_open(&r.log, &file.src, &opt, e);
	if (rc == 0) {
		rc = read_all(&r);
		if (rc == 0)
			rc = rama_log_annex_check(&r.log, e);
		if (rc < 0 && e->code == 0)
			rama_err_set(e, rc, "%s",
				     r.log.err.code != 0 ? r.log.err.text : rama_err_text(rc));
		rama_log_close(&r.log);
	}
	rama_file_close(&file);
	return rc != 0 ? rama_err_prefix(e, "%s", path) : 0;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b, void *ctx)
{
	const struct rama_emu_story *s = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (s->tasks[x].start != s->tasks[y].start)
		return s->tasks[x].start < s->tasks[y].start ? -1 : 1;
	return x < y ? -1 : 1;
}

static int by_task(const void *a, const void *b)
{
	const struct rama_emu_story_use *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static void add_to(struct rama_emu_story_use *to, const struct rama_emu_story_use *x)
{
	to->read = rama_core_add(to->read, x->read);
	to->written = rama_core_add(to->written, x->written);
	to->readers += x->readers;
	if (x->read > 0)
		to->read_from =
			to->read_from > 0 ? fmin(to->read_from, x->read_from) : x->read_from;
	if (x->written > 0)
		to->write_from =
			to->write_from > 0 ? fmin(to->write_from, x->write_from) : x->write_from;
	to->read_to = fmax(to->read_to, x->read_to);
	to->write_to = fmax(to->write_to, x->write_to);
	if (x->often > to->often) {
		to->often = x->often;
		to->request = x->request;
	}
	to->count = rama_core_add(to->count, x->count);
	to->in_order = rama_core_add(to->in_order, x->in_order);
}

/* Uses of a file that a task knew by several names are one. */
static void join_uses(struct rama_emu_story *s)
{
	size_t n = 0;

	if (s->n_uses > 0)
		qsort(s->uses, s->n_uses, sizeof(*s->uses), by_task);
	for (size_t i = 0; i < s->n_uses; i++) {
		if (n > 0 && s->uses[n - 1].task == s->uses[i].task &&
		    s->uses[n - 1].file == s->uses[i].file)
			add_to(&s->uses[n - 1], &s->uses[i]);
		else
			s->uses[n++] = s->uses[i];
	}
	s->n_uses = n;
}

/* Tasks in the order of their start; those that did nothing with files go. */
static int sort(struct rama_emu_story *s, struct rama_err *e)
{
	uint32_t *order = calloc(s->n_tasks + 1, sizeof(*order)),
		 *place = calloc(s->n_tasks + 1, sizeof(*place));
	struct rama_emu_story_task *tasks = calloc(s->n_tasks + 1, sizeof(*tasks));
	size_t n = 0;

	if (order == NULL || place == NULL || tasks == NULL) {
		free(order);
		free(place);
		free(tasks);
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	}
	join_uses(s);
	for (size_t i = 0; i < s->n_uses; i++)
		s->tasks[s->uses[i].task].n++;
	for (size_t i = 0; i < s->n_tasks; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, s->n_tasks, sizeof(*order), by_start, s);
	for (size_t i = 0; i < s->n_tasks; i++) {
		if (s->tasks[order[i]].n == 0)
			continue;
		place[order[i]] = (uint32_t)n;
		tasks[n++] = s->tasks[order[i]];
	}
	for (size_t i = 0; i < s->n_uses; i++)
		s->uses[i].task = place[s->uses[i].task];
	if (s->n_uses > 0)
		qsort(s->uses, s->n_uses, sizeof(*s->uses), by_task);
	for (size_t i = s->n_uses; i-- > 0;)
		tasks[s->uses[i].task].first = (uint32_t)i;
	free(s->tasks);
	s->tasks = tasks;
	s->n_tasks = n;
	free(order);
	free(place);
	return 0;
}

int rama_emu_story_read(struct rama_emu_story *s, char *const *paths, size_t n, struct rama_err *e)
{
	int rc = 0;

	*s = (struct rama_emu_story){ 0 };
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = read_log(s, paths[i], (uint32_t)i, e);
	if (rc == 0)
		rc = rama_emu_story_join(s, e);
	if (rc == 0)
		rc = sort(s, e);
	if (rc == 0 && s->n_tasks == 0)
		rc = rama_err_set(e, RAMA_EMISSING, "%s: no reads or writes of files in %s",
				  paths[0], n > 1 ? "it and the others" : "it");
	return rc;
}

void rama_emu_story_fini(struct rama_emu_story *s)
{
	free(s->tasks);
	free(s->files);
	free(s->uses);
	rama_map_fini(&s->file_by_id);
	rama_map_fini(&s->use_by_key);
	rama_map_fini(&s->renamed);
	free(s->renames);
	rama_arena_fini(&s->arena);
}
