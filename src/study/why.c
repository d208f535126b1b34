/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/why.h"

#include <stdio.h>
#include <time.h>

#include "base/human.h"
#include "query/cell.h"

#define UNLIKELY 0.05 /* what people are told */

static const char *clock_text(char to[24], int64_t second)
{
	time_t t = (time_t)second;
	struct tm tm;

	if (gmtime_r(&t, &tm) == NULL || strftime(to, 24, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(to, 24, "%lld", (long long)second);
	return to;
}

static int add(void *rows, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	return rama_query_rows_add(rows, row->cell);
}

static int put_rows(const struct rama_query_why *w, enum rama_rows_form form, double p,
		    struct rama_out *out, struct rama_err *e)
{
	struct rama_rows r = { .out = out, .form = form };
	int rc = rama_rows_begin(&r, rama_query_why_columns.n, rama_query_why_columns.name,
				 rama_query_why_columns.unit);

	if (rc == 0)
		rc = rama_query_why_rows(w, p, add, &r, e);
	rama_rows_end(&r);
	return rc;
}

static int put_json(const struct rama_query_why *w, int64_t job, struct rama_out *out,
		    struct rama_err *e)
{
	char from[24], to[24];
	struct rama_json j;
	int rc;

	rama_json_init(&j, out);
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "schema", "iorama.why/1");
	rama_json_key_i64(&j, "job", job);
	rama_json_key_bool(&j, "known", w->known);
	rama_json_key_bool(&j, "found", w->found);
	if (w->found) {
		rama_json_key_string(&j, "from", clock_text(from, w->from));
		rama_json_key_string(&j, "to", clock_text(to, w->to));
		rama_json_key_f64(&j, "rate", w->rate);
		rama_json_key_f64(&j, "usual", w->usual);
	}
	rama_json_key_i64(&j, "looked", (int64_t)w->looked);
	rama_json_key_f64(&j, "unlikely", UNLIKELY);
	rama_json_key(&j, "rows");
	rc = put_rows(w, RAMA_ROWS_JSON, 1, out, e);
	rama_out_text(out, "}\n");
	return rc;
}

static int put_text(const struct rama_query_why *w, int64_t job, struct rama_out *out,
		    struct rama_err *e)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN], from[24], to[24];
	size_t unlikely = 0;

	while (unlikely < w->n && w->row[unlikely].u.p <= UNLIKELY)
		unlikely++;
	if (!w->known) {
		rama_out_fmt(out, "It is not known what job %lld did when: it was not seen live.\n",
			     (long long)job);
		return 0;
	}
	if (!w->found) {
		rama_out_fmt(out, "No time of job %lld was slower than half of the usual.\n",
			     (long long)job);
		return 0;
	}
	rama_out_fmt(out, "From %s to %s job %lld moved %s of I/O time, usually %s.\n",
		     clock_text(from, w->from), clock_text(to, w->to), (long long)job,
		     rama_human_rate(a, w->rate), rama_human_rate(b, w->usual));
	rama_out_fmt(out,
		     "At the same time %zu of %zu figures of its nodes and of other jobs were "
		     "unusual; about %.0f would be by chance.\n",
		     unlikely, w->looked, UNLIKELY * (double)w->looked);
	if (w->looked == 0)
		rama_out_text(out, "Its nodes told nothing of themselves, or it was too short to "
				   "be compared with the rest of it.\n");
	return unlikely > 0
		       ? (rama_out_char(out, '\n'), put_rows(w, RAMA_ROWS_TEXT, UNLIKELY, out, e))
		       : 0;
}

int rama_study_why_tell(struct rama_store *s, int64_t job, struct rama_query_why *w,
			enum rama_rows_form form, struct rama_out *out, struct rama_err *e)
{
	int rc = rama_query_why_get(s, job, w, e);

	if (rc != 0)
		return rc;
	return form == RAMA_ROWS_JSON  ? put_json(w, job, out, e)
	       : form == RAMA_ROWS_CSV ? put_rows(w, form, 1, out, e)
				       : put_text(w, job, out, e);
}
