/* SPDX-License-Identifier: BSD-3-Clause */
/* dxt.c: the text form of darshan-dxt-parser: every traced read and write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/show/show.h"

/* layout of one file on Lustre, for the OST column */
struct layout {
	uint64_t comps;
	const union rama_core_word *comp, *ost;
};

struct trace {
	struct rama_report_show *show;
	const struct rama_tab_module *mod;
	bool threads;	       /* thread columns are shown */
	bool has_ids;	       /* the log knows threads */
	bool files;	       /* descriptors or streams: files that may have a Lustre layout */
	struct rama_map by_id; /* id -> index in layouts */
	struct layout *layouts;
	size_t n_layouts, layouts_room;
	struct rama_arena arena;
	uint32_t *n_threads; /* of each record, in order; counted before anything is printed */
	size_t n_records, records_room;
};

static int keep_layout(void *ctx, struct rama_log_cursor *c, const struct rama_core_record *r)
{
	struct trace *t = ctx;
	size_t comp = r->count[0] * RAMA_TAB_LUSTRE_COMP__WORDS;
	union rama_core_word *w;
	bool fresh;
	uint64_t *at = rama_map_put(&t->by_id, r->w[RAMA_TAB_ID].u, &fresh);

	(void)c;
	if (at == NULL || !fresh)
		return at == NULL ? RAMA_EMEMORY : 0;
	if (!RAMA_GROW(t->layouts, t->layouts_room, t->n_layouts + 1))
		return RAMA_EMEMORY;
	w = rama_arena_alloc(&t->arena, (comp + r->count[1] + 1) * sizeof(*w));
	if (w == NULL)
		return RAMA_EMEMORY;
	if (comp > 0)
		memcpy(w, r->array[0], comp * sizeof(*w));
	if (r->count[1] > 0)
		memcpy(w + comp, r->array[1], r->count[1] * sizeof(*w));
	*at = t->n_layouts++;
	t->layouts[*at] = (struct layout){ .comps = r->count[0], .comp = w, .ost = w + comp };
	return 0;
}

/* The number of threads stands above the segments: one pass over the module before printing. */
static int count_threads(struct trace *t)
{
	union rama_core_word seg[512][RAMA_TAB_SEG_WORDS];
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc = rama_log_cursor_open(&c, t->show->log, t->mod->id);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0) {
		struct rama_map ids = { 0 };
		uint64_t last = 0;
		unsigned kind;
		int n;

		while ((n = rama_log_cursor_segments(&c, seg, 512, &kind)) > 0) {
			for (int i = 0; i < n; i++) {
				if ((ids.used == 0 || seg[i][RAMA_TAB_SEG_THREAD].u != last) &&
				    rama_map_put(&ids, seg[i][RAMA_TAB_SEG_THREAD].u, NULL) == NULL)
					rc = RAMA_EMEMORY;
				last = seg[i][RAMA_TAB_SEG_THREAD].u;
			}
		}
		if (!RAMA_GROW(t->n_threads, t->records_room, t->n_records + 1)) {
			rama_map_fini(&ids);
			rc = RAMA_EMEMORY;
			break;
		}
		t->n_threads[t->n_records++] = ids.used > 0 ? (uint32_t)ids.used : 1;
		rama_map_fini(&ids);
	}
	rama_log_cursor_close(&c);
	return rc < 0 ? rc : 0;
}

static void print_components(struct rama_out *o, const struct layout *l)
{
	const union rama_core_word *ost = l->ost;

	rama_out_text(o, "# DXT, Lustre stripe components:\n");
	for (uint64_t n = 0; n < l->comps; n++) {
		const union rama_core_word *c = &l->comp[n * RAMA_TAB_LUSTRE_COMP__WORDS];
		uint64_t stripes = c[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].u;

		rama_out_fmt(o, "#\t[Component %llu] stripe_ext: %lld - ",
			     (unsigned long long)n + 1,
			     (long long)c[RAMA_TAB_LUSTRE_COMP_EXT_START].i);
		if (c[RAMA_TAB_LUSTRE_COMP_EXT_END].i == -1)
			rama_out_text(o, "EOF");
		else
			rama_out_i64(o, c[RAMA_TAB_LUSTRE_COMP_EXT_END].i);
		rama_out_fmt(o, ", stripe_size: %lld, stripe_count: %llu, OSTs:",
			     (long long)c[RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE].i,
			     (unsigned long long)stripes);
		for (uint64_t k = 0; k < stripes; k++) {
			rama_out_char(o, ' ');
			rama_out_i64(o, ost[k].i);
		}
		rama_out_char(o, '\n');
		ost += stripes;
	}
}

static void print_record_head(struct trace *t, const struct rama_core_record *r, uint64_t index,
			      const struct layout *l)
{
	struct rama_out *o = t->show->out;
	struct rama_report_place c;

	rama_report_place_of(&c, t->show->log, r);
	rama_out_fmt(
		o, "\n# DXT, file_id: %llu, file_name: ", (unsigned long long)r->w[RAMA_TAB_ID].u);
	rama_out_text(o, c.name);
	rama_out_fmt(o, "\n# DXT, rank: %lld, hostname: %.64s\n", (long long)r->w[RAMA_TAB_RANK].i,
		     r->w[RAMA_TAB_DXT_HOSTNAME].b);
	if (t->threads)
		rama_out_fmt(o, "# DXT, number of threads: %u\n",
			     t->has_ids && index < t->n_records ? t->n_threads[index] : 1);
	rama_out_fmt(o, "# DXT, write_count: %lld, read_count: %lld\n",
		     (long long)r->w[RAMA_TAB_DXT_WRITE_COUNT].i,
		     (long long)r->w[RAMA_TAB_DXT_READ_COUNT].i);
	rama_out_fmt(o, "# DXT, mnt_pt: %s, fs_type: %s\n", c.mount, c.fs);
	if (l != NULL)
		print_components(o, l);
	/* the released tools head their columns differently */
	rama_out_text(o, t->threads ? "# Module    Rank  Wt/Rd  Segment          Offset          "
				      "Length    Start(s)      End(s)"
				    : "# Module    Rank  Wt/Rd  Segment          Offset       "
				      "Length    Start(s)      End(s)");
	if (l != NULL)
		rama_out_text(o, "   [OST]");
	rama_out_text(o, t->threads ? "   Pthread-ID\n" : "\n");
}

/* what is left to show of a segment */
struct span {
	int64_t pos, end;
	int64_t shown; /* OSTs printed; not reset between components, as the original does not */
};

static void print_osts_of(struct rama_out *o, struct span *s, const union rama_core_word *c,
			  const union rama_core_word *ost)
{
	int64_t size = c[RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE].i;
	int64_t count = c[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].i;
	int64_t from = c[RAMA_TAB_LUSTRE_COMP_EXT_START].i, to = c[RAMA_TAB_LUSTRE_COMP_EXT_END].i;
	uint64_t at;

	if (count <= 0 || size <= 0 || s->pos < from)
		return;
	at = ((uint64_t)s->pos - (uint64_t)from) / (uint64_t)size;
	while (s->pos < s->end && (s->pos < to || to == -1)) {
		rama_out_text(o, " [");
		rama_out_i64(o, ost[at % (uint64_t)count].i);
		rama_out_char(o, ']');
		at++;
		s->pos = (int64_t)((uint64_t)from + at * (uint64_t)size);
		if (++s->shown >= count) {
			s->pos = to != -1 ? to : s->end;
			break;
		}
	}
}

static void print_osts(struct rama_out *o, const struct layout *l, int64_t offset, int64_t length)
{
	struct span s = { .pos = offset, .end = rama_core_add(offset, length) };
	const union rama_core_word *ost = l->ost;

	for (uint64_t n = 0; n < l->comps; n++) {
		const union rama_core_word *c = &l->comp[n * RAMA_TAB_LUSTRE_COMP__WORDS];

		print_osts_of(o, &s, c, ost);
		ost += c[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].u;
	}
	if (l->comps > 0)
		rama_out_text(o, "  ");
}

static inline char *put_column(char *p, int64_t v, unsigned width)
{
	char tmp[24];

	return rama_put_pad(p, tmp, (size_t)(rama_put_i64(tmp, v) - tmp), width);
}

static inline char *put_time(char *p, double v)
{
	char tmp[RAMA_F64_MAX];

	return rama_put_pad(p, tmp, (size_t)(rama_put_f64(tmp, v, 4) - tmp), 12);
}

static void print_segment(struct trace *t, const char *head, size_t head_len, int64_t number,
			  const union rama_core_word *s, const struct layout *l)
{
	struct rama_out *o = t->show->out;
	char *p = rama_out_room(o, head_len + 3 * RAMA_F64_MAX);

	if (p == NULL)
		return;
	p = mempcpy(p, head, head_len);
	p = put_column(p, number, 9);
	p = put_column(p, s[RAMA_TAB_SEG_OFFSET].i, 16);
	p = put_column(p, s[RAMA_TAB_SEG_LENGTH].i, 16);
	p = put_time(p, s[RAMA_TAB_SEG_START].f);
	p = put_time(p, s[RAMA_TAB_SEG_END].f);
	if (t->threads || t->files)
		p = mempcpy(p, "  ", 2);
	o->used = (size_t)(p - o->buf);
	if (l != NULL)
		print_osts(o, l, s[RAMA_TAB_SEG_OFFSET].i, s[RAMA_TAB_SEG_LENGTH].i);
	p = rama_out_room(o, 32);
	if (p == NULL)
		return;
	if (t->threads && t->has_ids) {
		char tmp[24];

		*p++ = ' ';
		p = rama_put_pad(p, tmp,
				 (size_t)(rama_put_u64(tmp, s[RAMA_TAB_SEG_THREAD].u) - tmp), 4);
	} else if (t->threads) {
		p = mempcpy(p, " N/A", 4);
	} else if (t->files && l == NULL) {
		*p++ = ' ';
	}
	*p++ = '\n';
	o->used = (size_t)(p - o->buf);
}

static int print_record(void *ctx, struct rama_log_cursor *c, const struct rama_core_record *r)
{
	union rama_core_word seg[512][RAMA_TAB_SEG_WORDS];
	struct trace *t = ctx;
	const uint64_t *at = t->files ? rama_map_get(&t->by_id, r->w[RAMA_TAB_ID].u) : NULL;
	const struct layout *l = at != NULL ? &t->layouts[*at] : NULL;
	char label[16];
	int64_t number[2] = { 0, 0 };
	unsigned kind;
	int n;

	snprintf(label, sizeof(label), "X_%s", t->mod->name + strlen("DXT_"));
	print_record_head(t, r, c->index - 1, l);
	while ((n = rama_log_cursor_segments(c, seg, 512, &kind)) > 0) {
		char head[64], *p = head;

		p = rama_put_pad(p, label, strlen(label), 8);
		p = put_column(p, r->w[RAMA_TAB_RANK].i, 8);
		p = kind == 0 ? rama_put_pad(p, "write", 5, 7) : rama_put_pad(p, "read", 4, 7);
		for (int i = 0; i < n; i++)
			print_segment(t, head, (size_t)(p - head), number[kind]++, seg[i], l);
		rama_report_show_progress(t->show, c);
		if (t->show->out->error != 0)
			return t->show->out->error;
	}
	return n;
}

static const unsigned traces[] = { RAMA_TAB_MOD_DXT_POSIX, RAMA_TAB_MOD_DXT_MPIIO,
				   RAMA_TAB_MOD_DXT_STDIO };
#define N_TRACES (sizeof(traces) / sizeof(traces[0]))

static int print_module(struct rama_report_show *s, unsigned module)
{
	static const char stars[] = "# ***************************************************\n";
	struct trace t = { .show = s, .mod = rama_tab_module_get(module) };
	int rc = 0;

	t.has_ids = rama_log_has_threads(s->log, module);
	t.files = module != RAMA_TAB_MOD_DXT_MPIIO;
	t.threads = s->threads;
	for (unsigned i = 0; i < N_TRACES; i++)
		t.threads = t.threads || rama_log_has_threads(s->log, traces[i]);
	rama_out_fmt(s->out, "\n%s# %s module data\n%s", stars, t.mod->name, stars);
	if (!rama_report_show_may_lack(s, t.mod))
		return RAMA_EMISSING;
	/* layouts are only used here: a warning about them would not belong into the output */
	if (!s->incomplete &&
	    !rama_report_show_may_lack(s, rama_tab_module_get(RAMA_TAB_MOD_LUSTRE)))
		return RAMA_EMISSING;
	if (t.files) {
		struct rama_report_show all = *s; /* but for the filter */

		all.filter = (struct rama_report_filter){ 0 };
		rc = rama_report_show_records(&all, RAMA_TAB_MOD_LUSTRE, keep_layout, &t);
	}
	if (rc == 0 && t.threads && t.has_ids) {
		struct rama_log_hush before = rama_log_set_hush(s->log);

		rc = count_threads(&t);
		rama_log_unhush(s->log, before);
		/* they may not fit after all */
		t.has_ids = rama_log_has_threads(s->log, module);
	}
	if (rc == 0)
		rc = rama_report_show_records(s, module, print_record, &t);
	rama_map_fini(&t.by_id);
	rama_arena_fini(&t.arena);
	free(t.layouts);
	free(t.n_threads);
	return rc;
}

int rama_report_show_dxt(struct rama_report_show *s)
{
	bool any = false;
	int rc = 0;

	rama_report_show_preamble(s);
	for (unsigned i = 0; i < N_TRACES && rc == 0; i++) {
		if (s->log->part[traces[i]].stored_len == 0)
			continue;
		any = true;
		if (rama_report_filter_module(&s->filter, traces[i]))
			rc = print_module(s, traces[i]);
	}
	if (!any)
		rama_out_text(s->out, "\n# no DXT module data available for this Darshan log.\n");
	return rc;
}
