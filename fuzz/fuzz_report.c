/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_report.c: input as for fuzz_diagnose.c; the report is made in every form. Text keeps to
 * its width and to harmless characters, JSON to its brackets and to UTF-8. */
#include <string.h>

#include "base/form/pen.h"
#include "fuzz.h"
#include "report/form.h"

/* every line has at most `width` columns, and no character does anything to a terminal */
static void check_text(const struct rama_out *o, unsigned width)
{
	const char *line = o->buf;
	struct rama_pen pen = { .utf8 = true };

	CHECK(o->used > 0 && o->buf[o->used - 1] == '\n');
	for (size_t at = 0; at < o->used; at++) {
		unsigned char c = (unsigned char)o->buf[at];

		CHECK(c == '\n' || (c >= ' ' && c != 0x7f));
		if (c != '\n')
			continue;
		o->buf[at] = '\0';
		CHECK(rama_pen_columns(&pen, line) <= width);
		line = o->buf + at + 1;
	}
}

/* brackets match, and nothing but the end follows the last */
static void check_json(const struct rama_out *o)
{
	char open[RAMA_JSON_DEPTH];
	size_t depth = 0;
	bool text = false;

	for (size_t at = 0; at + 1 < o->used; at++) {
		char c = o->buf[at];

		CHECK((unsigned char)c >= ' ');
		if (text) {
			at += c == '\\';
			text = c != '"';
		} else if (c == '"') {
			text = true;
		} else if (c == '{' || c == '[') {
			CHECK(depth < RAMA_JSON_DEPTH);
			open[depth++] = c;
		} else if (c == '}' || c == ']') {
			CHECK(depth > 0 && open[--depth] == (c == '}' ? '{' : '['));
			CHECK(depth > 0 || at + 2 == o->used);
		}
	}
	CHECK(!text && depth == 0 && o->used > 0 && o->buf[o->used - 1] == '\n');
}

static void text_of(const struct rama_report *r, unsigned width, unsigned flags)
{
	struct rama_report_look look = {
		.width = width, .utf8 = flags & 8, .verbose = flags & 16, .brief = flags & 32
	};
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	rama_report_text(&o, r, &look);
	check_text(&o, look.verbose ? UINT32_MAX : width); /* program text is as wide as it is */
	o.used = 0;
	rama_report_form_markdown.report(&o, r, &(struct rama_report_ask){ .look = look });
	CHECK(o.used > 0 && o.error == 0);
	rama_out_fini(&o);
}

static void data_of(const struct rama_report *r)
{
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	rama_report_json(&o, r);
	check_json(&o);
	for (unsigned t = 0; t < RAMA_REPORT_TABLES; t++)
		rama_report_form_csv.report(
			&o, r, &(struct rama_report_ask){ .table = rama_report_tables[t].name });
	rama_report_form_svg.report(&o, r, &(struct rama_report_ask){ 0 });
	rama_report_form_html.report(&o, r, &(struct rama_report_ask){ 0 });
	CHECK(o.error == 0);
	rama_out_fini(&o);
}

static void report(struct rama_log *log, unsigned flags)
{
	struct rama_job_view_options opt = { .trace = !(flags & 2), .detail = true };
	struct rama_diag d;
	struct rama_diag_profile p;
	struct rama_report r;
	struct rama_err e = { 0 };
	struct rama_job_view v;

	CHECK(rama_diag_profile_init(&p) == 0);
	rama_job_view_init(&v, &opt);
	if (rama_job_view_add_log(&v, log, "log", &e) == 0 && rama_job_view_finish(&v, &e) == 0) {
		CHECK(rama_diag_make(&d, &v, &p, &e) == 0);
		CHECK(rama_report_init(&r, &v, &d, &p) == 0);
		text_of(&r, 40 + (flags & 127), flags);
		data_of(&r);
		rama_report_fini(&r);
		rama_diag_fini(&d);
	}
	rama_job_view_fini(&v);
	rama_diag_profile_fini(&p);
}

static void report_file(const uint8_t *data, size_t size, unsigned flags)
{
	struct rama_source src;
	struct rama_log log;

	rama_source_memory(&src, data, size);
	if (rama_log_open(&log, &src, NULL, NULL) != 0)
		return;
	if (log.job.nprocs < 100000) /* more are a matter of time only */
		report(&log, flags);
	rama_log_close(&log);
}

static void report_parts(struct fuzz_input *in, unsigned flags)
{
	struct fuzz_log l[2] = { { .minor = 41, .start_sec = 1600000000 }, { .minor = 41 } };
	struct fuzz_bytes built = { 0 };

	l[0].swap = fuzz_take_byte(in) & 1;
	l[0].nprocs = fuzz_take_byte(in) + 1;
	fuzz_take_u16(in); /* of the second log */
	fuzz_log_parts(in, &l[0], &l[1]);
	fuzz_log_build(&l[0], &built);
	report_file(built.p, built.n, flags);
	fuzz_bytes_fini(&built);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t flags = fuzz_take_byte(&in);

	if (flags & 4)
		report_file(in.p, in.n, flags);
	else
		report_parts(&in, flags);
	return 0;
}
