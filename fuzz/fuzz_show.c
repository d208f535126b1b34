/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_show.c: a log is printed as `iorama show` prints it. JSON must be well-formed UTF-8, CSV
 * must have the same number of columns in every line. The first byte chooses the form (% 6:
 * text, text with all sections, trace, JSON, JSON of the trace, CSV), the second: 1 other byte
 * order; 2 some modules are said to lack data; 128 a whole log follows. Else: length of the job
 * region (2 bytes), job region, length of the names (2 bytes), names, then parts as in
 * fuzz_log_parts(). */
#include <string.h>

#include "base/source.h"
#include "fuzz.h"
#include "report/show/show.h"

enum { TEXT, ALL, TRACE, JSON, JSON_TRACE, CSV, FORMS };

/* ---- is it JSON? ----------------------------------------------------------------------------- */

struct json {
	const unsigned char *p, *end;
	char nest[64];
	unsigned depth;
};

static size_t utf8(const unsigned char *p, const unsigned char *end)
{
	size_t n = *p < 0x80   ? 1
		   : *p < 0xc2 ? 0
		   : *p < 0xe0 ? 2
		   : *p < 0xf0 ? 3
		   : *p < 0xf5 ? 4
			       : 0;

	CHECK(n > 0 && n <= (size_t)(end - p));
	for (size_t i = 1; i < n; i++)
		CHECK((p[i] & 0xc0) == 0x80);
	CHECK(!(p[0] == 0xe0 && p[1] < 0xa0) && !(p[0] == 0xed && p[1] >= 0xa0));
	CHECK(!(p[0] == 0xf0 && p[1] < 0x90) && !(p[0] == 0xf4 && p[1] >= 0x90));
	return n;
}

static void json_text(struct json *j)
{
	CHECK(*j->p++ == '"');
	while (j->p < j->end && *j->p != '"') {
		CHECK(*j->p >= 0x20);
		if (*j->p == '\\') {
			j->p++;
			CHECK(j->p < j->end && strchr("\"\\/bfnrtu", *j->p) != NULL);
		}
		j->p += utf8(j->p, j->end);
	}
	CHECK(j->p < j->end);
	j->p++;
}

static void json_word(struct json *j)
{
	size_t n = strspn((const char *)j->p, "+-.0123456789eEaflnrstu");
	const char *s = (const char *)j->p;

	CHECK(n > 0);
	CHECK((n == 4 && strncmp(s, "true", 4) == 0) || (n == 5 && strncmp(s, "false", 5) == 0) ||
	      (n == 4 && strncmp(s, "null", 4) == 0) || strspn(s, "+-.0123456789e") == n);
	j->p += n;
}

static void json_spaces(struct json *j)
{
	while (*j->p == '\n' || *j->p == ' ')
		j->p++;
}

/* a key in an object, then what may stand for a value: an opening bracket, a text, a word */
static void json_value(struct json *j)
{
	if (j->depth > 0 && j->nest[j->depth - 1] == '}') {
		json_text(j);
		CHECK(*j->p++ == ':');
	}
	if (*j->p == '"') {
		json_text(j);
	} else if (*j->p == '{' || *j->p == '[') {
		CHECK(j->depth < sizeof(j->nest));
		j->nest[j->depth++] = *j->p++ == '{' ? '}' : ']';
	} else {
		json_word(j);
	}
}

static void check_json(const char *text, size_t n)
{
	struct json j = { .p = (const unsigned char *)text,
			  .end = (const unsigned char *)text + n };

	CHECK(*j.p == '{');
	json_value(&j);
	while (j.depth > 0) {
		bool first = j.p[-1] == '{' || j.p[-1] == '[';

		json_spaces(&j);
		if (*j.p == (unsigned char)j.nest[j.depth - 1]) {
			j.p++;
			j.depth--;
			continue;
		}
		CHECK(first || *j.p == ',');
		j.p += !first;
		json_spaces(&j);
		json_value(&j);
	}
	json_spaces(&j);
	CHECK(j.p == j.end);
}

/* ---- is it CSV? ------------------------------------------------------------------------------ */

static void check_csv(const char *text, size_t n, unsigned columns)
{
	bool quoted = false;
	unsigned commas = 0;

	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"')
			quoted = !quoted;
		commas += !quoted && text[i] == ',';
		if (!quoted && text[i] == '\n') {
			CHECK(commas == columns - 1);
			commas = 0;
		}
	}
	CHECK(!quoted && commas == 0);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void show(const struct fuzz_bytes *built, unsigned form)
{
	struct rama_log log;
	struct rama_report_show s = { .base = true,
				      .incomplete = true,
				      .threads = form == TRACE,
				      .log = &log,
				      .path = "log" };
	struct rama_source src;
	struct rama_out out;

	rama_source_memory(&src, built->p, built->n);
	if (rama_log_open(&log, &src, NULL, NULL) != 0)
		return;
	rama_out_init(&out, NULL, NULL);
	s.out = &out;
	s.dxt = form == TRACE || form == JSON_TRACE;
	s.total = s.file = s.perf = form == ALL || form == JSON;
	if (form == JSON || form == JSON_TRACE)
		CHECK(rama_report_show_json(&s) == 0);
	else if (form == CSV)
		CHECK(rama_report_show_csv(&s) == 0);
	else if (form == TRACE)
		CHECK(rama_report_show_dxt(&s) == 0);
	else
		CHECK(rama_report_show_text(&s) == 0);
	CHECK(out.error == 0);
	rama_out_char(&out, '\0');
	if (form == JSON || form == JSON_TRACE)
		check_json(out.buf, out.used - 1);
	else if (form == CSV)
		check_csv(out.buf, out.used - 1, 9);
	rama_out_fini(&out);
	rama_log_close(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct fuzz_log l = { .minor = 41, .nprocs = 4, .start_sec = 1600000000 };
	struct fuzz_bytes built = { 0 };
	unsigned form = fuzz_take_byte(&in) % FORMS;
	uint8_t flags = fuzz_take_byte(&in);

	if (flags & 128) {
		fuzz_bytes_put(&built, 0, in.p, in.n);
	} else {
		l.swap = flags & 1;
		l.partial = flags & 2 ? 0x5555 : 0;
		l.job = fuzz_take(&in, fuzz_take_u16(&in));
		l.names = fuzz_take(&in, fuzz_take_u16(&in));
		fuzz_log_parts(&in, &l, &l);
		fuzz_log_build(&l, &built);
	}
	show(&built, form);
	fuzz_bytes_fini(&built);
	return 0;
}
