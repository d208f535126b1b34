/* SPDX-License-Identifier: BSD-3-Clause */
/* What several forms of a report need and the view does not have: orders, and figures that
 * follow from counters. */
#include "report/report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/sum/plan.h"

#define RANKS_SHOWN 1024 /* rows of the table of ranks */
#define NAME_MOST 64

static void *get(struct rama_report *r, size_t n, size_t size)
{
	return rama_arena_alloc(&r->arena, (n > 0 ? n : 1) * size);
}

/* ---- orders ---------------------------------------------------------------------------------- */

struct keyed {
	double time;
	int64_t bytes;
	uint32_t index;
};

/* most time first; names in the order of the log where nothing tells them apart */
static int by_time(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static struct keyed key_of(const struct rama_job_io *io, uint32_t index)
{
	return (struct keyed){ rama_job_io_time(io),
			       rama_core_add(io->bytes_read, io->bytes_written), index };
}

static void take_order(uint32_t *to, struct keyed *k, size_t n)
{
	qsort(k, n, sizeof(*k), by_time);
	for (size_t i = 0; i < n; i++)
		to[i] = k[i].index;
}

static int order_files(struct rama_report *r)
{
	const struct rama_job_view *v = r->view;
	size_t most = v->n_files > v->n_groups ? v->n_files : v->n_groups, n = 0;
	struct keyed *k = malloc((most + 1) * sizeof(*k));

	r->files = get(r, v->n_files, sizeof(*r->files));
	r->groups = get(r, v->n_groups, sizeof(*r->groups));
	r->group_row = get(r, v->n_groups, sizeof(*r->group_row));
	if (k == NULL || r->files == NULL || r->groups == NULL || r->group_row == NULL) {
		free(k);
		return RAMA_EMEMORY;
	}
	for (size_t i = 0; i < v->n_files; i++)
		if (!v->files[i].pseudo && !v->files[i].unopened)
			k[n++] = key_of(&v->files[i].io, (uint32_t)i);
	r->n_files = n;
	take_order(r->files, k, n);
	for (size_t i = 0; i < v->n_groups; i++)
		k[i] = key_of(&v->groups[i].io, (uint32_t)i);
	take_order(r->groups, k, v->n_groups);
	for (size_t i = 0; i < v->n_groups; i++)
		r->group_row[r->groups[i]] = (int64_t)i;
	free(k);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static size_t without_doubles(int64_t *v, size_t n)
{
	size_t kept = 0;

	qsort(v, n, sizeof(*v), by_number);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || v[i] != v[kept - 1])
			v[kept++] = v[i];
	return kept;
}

/* All ranks, or when there are too many: a third of them the slowest, a third the fastest, a
 * third evenly spaced. */
static int order_ranks(struct rama_report *r)
{
	size_t n = r->view->nprocs > 0 ? (size_t)r->view->nprocs : 0;
	size_t third = RANKS_SHOWN / 3, shown = n < RANKS_SHOWN ? n : 3 * third;
	struct keyed *k = malloc((n + 1) * sizeof(*k));

	r->ranks = get(r, shown, sizeof(*r->ranks));
	r->rank_times = get(r, n, sizeof(*r->rank_times));
	if (k == NULL || r->ranks == NULL || r->rank_times == NULL) {
		free(k);
		return RAMA_EMEMORY;
	}
	for (size_t i = 0; i < n; i++)
		k[i] = key_of(&r->view->ranks[i].io, (uint32_t)i);
	qsort(k, n, sizeof(*k), by_time);
	for (size_t i = 0; i < n; i++)
		r->rank_times[i] = k[i].time;
	for (size_t i = 0; i < shown; i++) {
		if (shown == n)
			r->ranks[i] = (int64_t)i;
		else if (i < third)
			r->ranks[i] = k[i].index;
		else if (i < 2 * third)
			r->ranks[i] = k[n - 1 - (i - third)].index;
		else
			r->ranks[i] = (int64_t)((i - 2 * third) * (n - 1) / (third - 1));
	}
	r->n_ranks = without_doubles(r->ranks, shown);
	for (; r->n_slow < RAMA_REPORT_SLOW && r->n_slow < n; r->n_slow++) {
		int64_t rank = k[r->n_slow].index;
		int64_t *at = bsearch(&rank, r->ranks, r->n_ranks, sizeof(rank), by_number);

		r->slow[r->n_slow] = (size_t)(at - r->ranks);
	}
	free(k);
	return 0;
}

/* ---- sizes, operations, pattern -------------------------------------------------------------- */

static int list_layers(struct rama_report *r)
{
	r->layers = get(r, RAMA_JOB_LAYERS, sizeof(*r->layers));
	r->sizes = get(r, (size_t)RAMA_JOB_LAYERS * RAMA_JOB_SIZE_BINS, sizeof(*r->sizes));
	if (r->layers == NULL || r->sizes == NULL)
		return RAMA_EMEMORY;
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++) {
		if (!r->view->layer[l].used)
			continue;
		r->layers[r->n_layers++] = l;
		for (unsigned b = 0; r->view->layer[l].sizes && b < RAMA_JOB_SIZE_BINS; b++)
			r->sizes[r->n_sizes++] = (struct rama_report_size){ l, b };
	}
	return 0;
}

/* Does the field count calls? Sums do that, but for those that count bytes or kinds of accesses. */
static bool counts_calls(const struct rama_tab_field *f)
{
	static const char *const others[] = { "_SIZE_",	  "BYTES",    "_SEQ_", "_CONSEC_",
					      "_ALIGNED", "SWITCHES", "HINTS" };

	if (f->place != RAMA_TAB_COUNTER || f->type != RAMA_TAB_I64 ||
	    f->word == RAMA_TAB_NO_WORD ||
	    (f->reduce != RAMA_TAB_SUM && f->reduce != RAMA_TAB_SUM_NEG))
		return false;
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strstr(f->name, others[i]) != NULL)
			return false;
	return true;
}

/* POSIX_RENAME_SOURCES -> rename_sources; modules differ in how long their prefix is */
static const char *plain_name(struct rama_report *r, const struct rama_tab_schema *s,
			      const char *name)
{
	const char *first = name;
	size_t same = strlen(first), n = 0; /* what all names begin with */
	char to[NAME_MOST];

	for (unsigned i = 0; i < *s->n_fields; i++)
		while (s->fields[i].word != RAMA_TAB_NO_WORD && same > 0 &&
		       (strncmp(first, s->fields[i].name, same) != 0 || first[same - 1] != '_'))
			same--;
	for (const char *p = name + same; *p != '\0' && n + 1 < sizeof(to); p++)
		to[n++] = (char)tolower((unsigned char)*p);
	return rama_arena_text(&r->arena, to, n);
}

static int list_operations(struct rama_report *r)
{
	size_t most = 0;

	for (size_t i = 0; i < r->n_layers; i++)
		most += *rama_tab_module_get(rama_job_layer_info[r->layers[i]].module)
				 ->record->n_fields;
	r->operations = get(r, most, sizeof(*r->operations));
	if (r->operations == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < r->n_layers; i++) {
		enum rama_job_layer l = r->layers[i];
		const struct rama_tab_schema *s =
			rama_tab_module_get(rama_job_layer_info[l].module)->record;
		const union rama_core_word *total = r->view->layer[l].total;

		for (unsigned k = 0; total != NULL && k < *s->n_fields; k++) {
			const struct rama_tab_field *f = &s->fields[k];
			const char *name;

			if (!counts_calls(f) || total[f->word].i <= 0)
				continue;
			name = plain_name(r, s, f->name);
			if (name == NULL)
				return RAMA_EMEMORY;
			r->operations[r->n_operations++] =
				(struct rama_report_operation){ l, name, total[f->word].i };
		}
	}
	return 0;
}

static int64_t at_least_0(int64_t v)
{
	return v > 0 ? v : 0;
}

/* Files times ranks that used them: each begins with an access that has none before it. */
static int64_t first_accesses(const struct rama_job_view *v, enum rama_job_layer l, unsigned kind)
{
	int64_t n = 0;

	for (size_t i = 0; i < v->n_files; i++) {
		const struct rama_job_view_file *f = &v->files[i];
		struct rama_job_io io;
		int64_t calls;

		if (f->rec[l] == NULL || f->pseudo)
			continue;
		io = rama_job_io_of(l, f->rec[l]);
		calls = kind == 1 ? io.reads : io.writes;
		n += calls < f->ranks ? calls : f->ranks;
	}
	return n;
}

static void fill_common(struct rama_report_pattern *p, const union rama_core_word *total)
{
	struct rama_core_plan plan;

	rama_core_plan_init(&plan, rama_tab_module_get(rama_job_layer_info[p->layer].module));
	for (unsigned i = 0; plan.access.width > 0 && i < 4; i++) {
		p->common[i].size = total[plan.access.value[i]].i;
		p->common[i].count = at_least_0(total[plan.access.count[i]].i);
	}
}

/* value of a counter of the layer's total, -1: it has none */
static int64_t counter(const struct rama_tab_module *m, const union rama_core_word *total,
		       const char *name)
{
	const struct rama_tab_field *f = rama_tab_field_find(m, name);

	return f != NULL && f->word != RAMA_TAB_NO_WORD ? at_least_0(total[f->word].i) : -1;
}

static bool fill_pattern(struct rama_report_pattern *p, const struct rama_job_view *v,
			 enum rama_job_layer l)
{
	static const char *const names[2][2] = { { "CONSEC_WRITES", "SEQ_WRITES" },
						 { "CONSEC_READS", "SEQ_READS" } };
	const struct rama_tab_module *m = rama_tab_module_get(rama_job_layer_info[l].module);
	const union rama_core_word *total = v->layer[l].total;

	*p = (struct rama_report_pattern){ .layer = l };
	if (total == NULL || counter(m, total, "RW_SWITCHES") < 0)
		return false;
	for (unsigned kind = 0; kind < 2; kind++) {
		int64_t consec = counter(m, total, names[kind][0]);
		int64_t seq = counter(m, total, names[kind][1]), calls;

		if (consec < 0)
			continue;
		calls = kind == 1 ? v->layer[l].io.reads : v->layer[l].io.writes;
		p->use[kind].consecutive = consec;
		p->use[kind].sequential = at_least_0(seq - consec);
		p->use[kind].random = at_least_0(calls - seq - first_accesses(v, l, kind));
	}
	p->switches = counter(m, total, "RW_SWITCHES");
	p->file_unaligned = counter(m, total, "FILE_NOT_ALIGNED");
	p->memory_unaligned = counter(m, total, "MEM_NOT_ALIGNED");
	fill_common(p, total);
	return true;
}

static int list_patterns(struct rama_report *r)
{
	r->patterns = get(r, RAMA_JOB_LAYERS, sizeof(*r->patterns));
	if (r->patterns == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < r->n_layers; i++)
		r->n_patterns += fill_pattern(&r->patterns[r->n_patterns], r->view, r->layers[i]);
	return 0;
}

int rama_report_init(struct rama_report *r, const struct rama_job_view *v,
		     const struct rama_diag *d, const struct rama_diag_profile *p)
{
	int rc;

	*r = (struct rama_report){ .view = v, .diagnosis = d, .profile = p };
	rc = order_files(r);
	if (rc == 0)
		rc = order_ranks(r);
	if (rc == 0)
		rc = list_layers(r);
	if (rc == 0)
		rc = list_operations(r);
	if (rc == 0)
		rc = list_patterns(r);
	if (rc != 0)
		rama_report_fini(r);
	return rc;
}

void rama_report_fini(struct rama_report *r)
{
	rama_arena_fini(&r->arena);
}

double rama_report_io_share(const struct rama_job_view *v)
{
	double share = v->run_time > 0 ? v->io_time / v->run_time : 0;

	return share < 1 ? share : 1;
}

const struct rama_job_view_file *rama_report_culprit_file(const struct rama_job_view *v,
							  const struct rama_diag_culprit *c)
{
	bool file = strcmp(c->kind, "file") == 0;

	return file && c->index >= 0 && (size_t)c->index < v->n_files ? &v->files[c->index] : NULL;
}

bool rama_report_snippet_told(const struct rama_report *r, const struct rama_diag_finding *f,
			      const struct rama_diag_snippet *s)
{
	for (const struct rama_diag_finding *x = r->diagnosis->findings; x < f; x++)
		for (size_t i = 0; i < x->n_snippets; i++)
			if (strcmp(x->snippets[i].text, s->text) == 0)
				return true;
	return false;
}

bool rama_report_culprit_told(const struct rama_job_view *v, const struct rama_diag_finding *f)
{
	const struct rama_job_view_file *file;

	if (f->n_culprits != 1 || f->all_culprits != 1 || f->evidence == NULL)
		return false;
	file = rama_report_culprit_file(v, &f->culprits[0]);
	return strstr(f->evidence, file != NULL ? file->name : f->culprits[0].name) != NULL;
}
