/* SPDX-License-Identifier: BSD-3-Clause */
#include "index/index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/siphash.h"
#include "index/served.h"
#include "job/view.h"
#include "query/metric.h"
#include "study/study.h"

#define PIECE (1u << 20) /* of a large log, for its hash */

/* ---- figures --------------------------------------------------------------------------------- */

static double found_cost(const struct rama_diag *d)
{
	double cost = 0;

	for (size_t i = 0; i < d->n_findings; i++)
		cost += d->findings[i].cost;
	return cost;
}

static const struct rama_store_figure *add_figure(struct rama_store_figure *to, size_t *n,
						  const char *name, double value)
{
	if (value != 0 && isfinite(value)) /* what is not there is 0 */
		to[(*n)++] = (struct rama_store_figure){ name, value };
	return to;
}

static int take_figures(struct rama_index_indexed *x, const struct rama_job_view *v,
			const struct rama_diag *d)
{
	size_t most = rama_diag_n_facts + rama_query_n_figures;
	struct rama_store_figure *f = rama_arena_alloc(&x->arena, most * sizeof(*f));

	if (f == NULL)
		return RAMA_EMEMORY;
	x->row.figures = f;
	for (unsigned i = 0; i < rama_diag_n_facts; i++)
		add_figure(f, &x->row.n_figures, rama_diag_fact_info[i].name, d->facts[i]);
#define FIGURE(name, unit, value, doc) add_figure(f, &x->row.n_figures, #name, value);
#include "query/figures.def"
#undef FIGURE
	return 0;
}

/* ---- what the store is given ----------------------------------------------------------------- */

/* a copy that outlives the view; NULL becomes "" */
static const char *keep(struct rama_index_indexed *x, const char *s, int *rc)
{
	char *copy = s != NULL && *s != '\0' ? rama_arena_text(&x->arena, s, strlen(s)) : NULL;

	if (copy == NULL && s != NULL && *s != '\0')
		*rc = RAMA_EMEMORY;
	return copy != NULL ? copy : "";
}

static int take_findings(struct rama_index_indexed *x, const struct rama_diag *d)
{
	struct rama_store_finding *to =
		rama_arena_alloc(&x->arena, (d->n_findings + 1) * sizeof(*to));
	int rc = to != NULL ? 0 : RAMA_EMEMORY;

	for (size_t i = 0; rc == 0 && i < d->n_findings; i++) {
		const struct rama_diag_finding *f = &d->findings[i];

		to[i] = (struct rama_store_finding){ .rule = f->rule->id,
						     .level = rama_diag_level_name[f->level],
						     .title = keep(x, f->title, &rc),
						     .evidence = keep(x, f->evidence, &rc),
						     .advice = keep(x, f->advice, &rc),
						     .cost = f->cost,
						     .bytes = f->bytes };
	}
	x->row.findings = to;
	x->row.n_findings = d->n_findings;
	return rc;
}

const char *rama_index_user_name(struct rama_index_indexed *x, struct rama_index_users *users,
				 int64_t uid, int *rc)
{
	char buf[1024], number[24];
	struct rama_index_user *u = &users->user[(uint64_t)uid % RAMA_INDEX_USERS];
	struct passwd pw, *found = NULL;

	if (!u->known || u->uid != uid) {
		snprintf(number, sizeof(number), "%" PRId64, uid);
		if (uid < 0 || uid > (int64_t)UINT32_MAX ||
		    getpwuid_r((uid_t)uid, &pw, buf, sizeof(buf), &found) != 0)
			found = NULL;
		snprintf(u->name, sizeof(u->name), "%s", found != NULL ? found->pw_name : number);
		u->uid = uid;
		u->known = true;
	}
	return keep(x, u->name, rc);
}

/* by the name of the log, as sites name them; else as this machine knows the number */
static const char *user_of(struct rama_index_indexed *x, struct rama_index_users *users,
			   int64_t uid, int *rc)
{
	const char *user;
	size_t n = rama_job_view_log_user(x->row.path, &user);

	if (n == 0 || strspn(user, "0123456789") == n) /* else it is the number again */
		return rama_index_user_name(x, users, uid, rc);
	user = rama_arena_text(&x->arena, user, n);
	*rc = user != NULL ? *rc : RAMA_EMEMORY;
	return user != NULL ? user : "";
}

static int take_row(struct rama_index_indexed *x, const struct rama_job_view *v,
		    const struct rama_diag *d, struct rama_index_users *users)
{
	struct rama_store_log *r = &x->row;
	int rc = take_figures(x, v, d);

	if (rc == 0)
		rc = take_findings(x, d);
	r->user = user_of(x, users, v->uid, &rc);
	r->name = keep(x, v->name, &rc);
	r->verdict = keep(x, d->verdict, &rc);
	r->bytes_read = v->disk.bytes_read;
	r->bytes_written = v->disk.bytes_written;
	r->reads = v->disk.reads;
	r->writes = v->disk.writes;
	r->metas = v->disk.metas;
	r->files = (int64_t)v->n_real;
	r->nodes = v->nodes;
	r->io_time = v->io_time;
	/* of a rank on average; threads may spend it at the same time */
	r->meta_time = v->nprocs > 0 ? v->total.meta_time / (double)v->nprocs : 0;
	if (!(r->meta_time <= v->run_time))
		r->meta_time = v->run_time;
	r->run_time = v->run_time;
	r->complete = v->complete;
	if (x->key[0] == '\0')
		snprintf(x->key, sizeof(x->key), "%" PRId64 "/%" PRId64 "/%" PRId64 "/%016" PRIx64,
			 v->uid, v->jobid, v->start_sec, r->hash);
	return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void keep_first(void *ctx, const char *line)
{
	struct rama_index_indexed *x = ctx;

	if (x->problem.code == 0)
		rama_err_set(&x->problem, RAMA_ECORRUPT, "%s", line);
}

static int study(struct rama_index_indexed *x, const struct rama_index_options *opt,
		 struct rama_err *e)
{
	struct rama_index_users own = { 0 };
	struct rama_job_view v;
	struct rama_diag d;
	int rc = rama_study_log(&v, &d, &x->log, x->row.path, true, opt->profile, e);

	if (rc == 0) {
		rc = take_row(x, &v, &d, opt->users != NULL ? opt->users : &own);
		if (rc == 0)
			rc = rama_index_served(x, opt->users != NULL ? opt->users : &own);
		rama_diag_fini(&d);
		rama_job_view_fini(&v);
	}
	return rc == 0 || e->code != 0 ? rc : rama_err_set(e, rc, "%s", rama_err_text(rc));
}

static int read_log(struct rama_index_indexed *x, struct rama_source *src, const char *key,
		    const struct rama_index_options *opt, struct rama_err *e)
{
	struct rama_log_options how = { .problem = keep_first, .ctx = x };
	int rc;

	if (key != NULL && strlen(key) >= sizeof(x->key))
		return rama_err_set(e, RAMA_ELIMIT, "the key of its job is too long");
	snprintf(x->key, sizeof(x->key), "%s", key != NULL ? key : "");
	x->row.key = x->key;
	rc = rama_log_open(&x->log, src, &how, e);
	if (rc != 0)
		return rc;
	x->opened = true;
	x->row.log = &x->log;
	return study(x, opt, e);
}

static uint64_t hash_bytes(const void *bytes, size_t n)
{
	static const struct rama_sipkey fixed = { 0x696f72616d61206cu, 0x6f67206f66206a6fu };
	uint64_t h = rama_siphash(&fixed, bytes, n);

	return h != 0 ? h : 1; /* 0: not known */
}

/* of a file that is too large for memory: the hash of the hashes of its pieces */
static int hash_file(struct rama_index_indexed *x, struct rama_err *e)
{
	const struct rama_source *src = &x->file.src;
	size_t pieces = (size_t)((src->size + PIECE - 1) / PIECE);
	uint64_t *hash = calloc(pieces, sizeof(*hash));
	unsigned char *buf = malloc(PIECE);
	int rc = 0;

	if (hash == NULL || buf == NULL) {
		free(hash);
		free(buf);
		return rama_err_no_memory(e);
	}
	for (size_t i = 0; rc == 0 && i < pieces; i++) {
		uint64_t at = (uint64_t)i * PIECE;
		size_t n = src->size - at < PIECE ? (size_t)(src->size - at) : PIECE;

		rc = src->read(src->ctx, at, buf, n, e);
		hash[i] = rc == 0 ? hash_bytes(buf, n) : 0;
	}
	if (rc == 0)
		x->row.hash = hash_bytes(hash, pieces * sizeof(*hash));
	free(hash);
	free(buf);
	return rc;
}

static int read_bytes(struct rama_index_indexed *x, struct rama_err *e)
{
	const struct rama_source *src = &x->file.src;
	int rc;

	x->bytes = malloc((size_t)src->size + 1);
	if (x->bytes == NULL)
		return rama_err_no_memory(e);
	rc = src->size > 0 ? src->read(src->ctx, 0, x->bytes, (size_t)src->size, e) : 0;
	if (rc == 0)
		x->row.hash = hash_bytes(x->bytes, (size_t)src->size);
	return rc;
}

static int64_t mtime_of(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* Has it been written to since? What was read is then of no one moment. */
static int check_still(const struct rama_index_indexed *x, struct rama_err *e)
{
	struct stat st;

	if (fstat(x->file.fd, &st) == 0 && st.st_size == x->row.size &&
	    mtime_of(&st) == x->row.mtime_ns)
		return 0;
	return rama_err_set(e, RAMA_EIO, "changed while it was read");
}

int rama_index_indexed_file(struct rama_index_indexed *x, const char *path, const char *key,
			    const struct rama_index_options *opt, struct rama_err *e)
{
	struct stat st;
	int rc;

	*x = (struct rama_index_indexed){ .file.fd = -1, .row.path = path };
	rc = rama_file_open(&x->file, path, e);
	if (rc != 0)
		return rc;
	if (fstat(x->file.fd, &st) != 0 || !S_ISREG(st.st_mode))
		return rama_err_set(e, RAMA_EIO, "no file");
	x->row.size = st.st_size;
	x->row.mtime_ns = mtime_of(&st);
	if (x->file.src.size > RAMA_INDEX_KEPT) {
		rc = hash_file(x, e);
		return rc != 0 ? rc : read_log(x, &x->file.src, key, opt, e);
	}
	rc = read_bytes(x, e);
	if (rc == 0)
		rc = check_still(x, e);
	rama_source_memory(&x->memory, x->bytes, (size_t)x->row.size);
	rama_file_close(&x->file);
	if (rc == 0 && !opt->no_logs) {
		x->row.bytes = x->bytes;
		x->row.len = (size_t)x->row.size;
	}
	return rc != 0 ? rc : read_log(x, &x->memory, key, opt, e);
}

int rama_index_find(struct rama_store *s, const char *path, int64_t *job, struct rama_err *e)
{
	struct rama_index_indexed x = { .file.fd = -1, .row.path = path };
	int rc = rama_file_open(&x.file, path, e);

	if (rc == 0)
		rc = x.file.src.size > RAMA_INDEX_KEPT ? hash_file(&x, e) : read_bytes(&x, e);
	if (rc == 0)
		rc = rama_store_find_log(s, x.row.hash, job, e);
	rama_index_indexed_fini(&x);
	return rc;
}

/* The bytes must stay until fini. */
static int indexed_bytes(struct rama_index_indexed *x, const struct rama_wire_msg_log *m,
			 const struct rama_index_options *opt, struct rama_err *e)
{
	*x = (struct rama_index_indexed){ .file.fd = -1,
					  .row.path = m->name[0] == '/' ? m->name : "",
					  .row.size = (int64_t)m->len,
					  .row.hash = hash_bytes(m->bytes, m->len) };
	if (!opt->no_logs) {
		x->row.bytes = m->bytes;
		x->row.len = m->len;
	}
	rama_source_memory(&x->memory, m->bytes, m->len);
	return read_log(x, &x->memory, m->job, opt, e);
}

/* ---- putting --------------------------------------------------------------------------------- */

int rama_index_indexed_put(struct rama_store *s, struct rama_index_indexed *x, struct rama_err *e)
{
	struct rama_log_hush before = rama_log_set_hush(&x->log); /* its problems are known */
	int rc = rama_store_put_log(s, &x->row, e);

	rama_log_unhush(&x->log, before);
	return rc;
}

void rama_index_indexed_fini(struct rama_index_indexed *x)
{
	if (x->opened)
		rama_log_close(&x->log);
	x->opened = false;
	rama_file_close(&x->file);
	free(x->bytes);
	x->bytes = NULL;
	rama_arena_fini(&x->arena);
}

/* one of both */
static int index_one(struct rama_store *s, const struct rama_wire_msg_log *m, const char *path,
		     const char *key, struct rama_err *e)
{
	struct rama_diag_profile profile;
	struct rama_index_options opt = { .profile = &profile };
	struct rama_index_indexed *x = malloc(sizeof(*x));
	int rc = x != NULL ? rama_diag_profile_init(&profile) : RAMA_EMEMORY;

	if (rc != 0) {
		free(x);
		return rama_err_set(e, rc, "%s", rama_err_text(rc));
	}
	rc = m != NULL ? indexed_bytes(x, m, &opt, e)
		       : rama_index_indexed_file(x, path, key, &opt, e);
	if (rc == 0)
		rc = rama_index_indexed_put(s, x, e);
	rama_index_indexed_fini(x);
	rama_diag_profile_fini(&profile);
	free(x);
	return rc;
}

int rama_index_log(struct rama_store *s, const struct rama_wire_msg_log *m, struct rama_err *e)
{
	return index_one(s, m, NULL, NULL, e);
}

int rama_index_path(struct rama_store *s, const char *path, const char *key, struct rama_err *e)
{
	return index_one(s, NULL, path, key, e);
}
