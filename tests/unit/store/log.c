/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs known from their logs: all counters of all modules, the same log under several names,
 * logs of jobs that were seen live */
#include "help.h"

#include <math.h>
#include <strings.h>

#include "logs.h"

#define RECORDS 3

static struct rama_store_finding finding[] = {
	{ "W01", "HIGH", "many small writes", "1,000 of 1,010", "write more at once", 12.5, 4096 },
	{ "M02", "WARN", "many opens", NULL, NULL, 0.5, 0 }
};
static struct rama_store_figure figure[] = { { "small_writes", 1000 },
					     { "io_share", 0.25 },
					     { "rate", NAN } };

static struct rama_store_log log_of(const char *key, struct reading *in, const struct memfile *f)
{
	return (struct rama_store_log){ .key = key,
					.path = "",
					.size = (int64_t)f->n,
					.mtime_ns = 5,
					.user = "ada",
					.name = "app",
					.log = &in->log,
					.bytes = f->bytes,
					.len = f->n,
					.bytes_read = 11,
					.bytes_written = 22,
					.reads = 33,
					.writes = 44,
					.metas = 55,
					.files = 66,
					.nodes = 2,
					.io_time = 7.5,
					.meta_time = 2.5,
					.run_time = 100.5,
					.complete = true,
					.verdict = "It is slow.",
					.findings = finding,
					.n_findings = 2,
					.figures = figure,
					.n_figures = 3 };
}

static int64_t put_log(struct rama_store *s, const struct rama_store_log *l)
{
	struct rama_err e = { 0 };

	begin(s);
	if (rama_store_put_log(s, l, &e) != 0)
		fail_msg("%s", e.text);
	commit(s);
	return number(s, "SELECT count(*) FROM jobs");
}

/* a log with one name and one POSIX record; `n` makes it another one */
static void small_log(struct memfile *f, struct reading *in, unsigned n)
{
	struct rng r = { n };
	struct rama_log_writer w;
	struct sample *x = calloc(1, sizeof(*x));

	*f = (struct memfile){ 0 };
	sample_make(x, RAMA_TAB_MOD_POSIX, &r, 0);
	writer_start(&w, f, 1);
	assert_int_equal(rama_log_writer_name(&w, x->w[RAMA_TAB_ID].u, "/scratch/out", 12), 0);
	assert_int_equal(rama_log_writer_module(&w, RAMA_TAB_MOD_POSIX, 4), 0);
	sample_write(&w, x);
	writer_end(&w, 0);
	reading_open(in, f);
	free(x);
}

/* ---- counters -------------------------------------------------------------------------------- */

struct rows {
	struct reading in;
	struct rama_log_cursor c;
	unsigned n;
};

static void same_word(const struct rama_store_cell *cell, const struct rama_tab_field *f,
		      const struct rama_core_record *r)
{
	const union rama_core_word *w = &r->w[f->word];
	size_t n;

	if (f->type == RAMA_TAB_F64 && w->f != w->f) {
		assert_int_equal(cell->type, RAMA_STORE_CELL_NULL); /* no number */
	} else if (f->type == RAMA_TAB_F64) {
		assert_int_equal(cell->type, RAMA_STORE_CELL_REAL);
		assert_memory_equal(&cell->f, &w->f, sizeof(double));
	} else if (f->type == RAMA_TAB_TEXT) {
		n = strnlen(w->b, 8u * f->words);
		assert_int_equal(cell->type, RAMA_STORE_CELL_TEXT);
		if (cell->len == n) /* else it was no UTF-8 */
			assert_memory_equal(cell->text, w->b, n);
	} else if (f->type == RAMA_TAB_UUID) {
		assert_int_equal(cell->len, 36);
	} else {
		assert_int_equal(cell->type, RAMA_STORE_CELL_INT);
		assert_int_equal(cell->i, w->i);
	}
}

/* the next row is the next record of the log, every column a field of its name */
static int same_row(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rows *in = ctx;
	struct rama_core_record *r;
	unsigned columns = 0;

	(void)e;
	do
		assert_int_equal(rama_log_cursor_next(&in->c, &r), 1);
	while (r->schema != r->mod->record);
	assert_int_equal(row->cell[1].i, in->n++);
	assert_int_equal(row->cell[2].i, r->w[RAMA_TAB_RANK].i);
	assert_int_equal(row->cell[3].i, r->w[RAMA_TAB_ID].i);
	for (unsigned i = 4; i < row->n; i++) {
		const struct rama_tab_field *f = NULL;

		for (unsigned k = 0; k < *r->schema->n_fields && f == NULL; k++)
			if (strcasecmp(r->schema->fields[k].name, row->name[i]) == 0 &&
			    r->schema->fields[k].word != RAMA_TAB_NO_WORD)
				f = &r->schema->fields[k];
		assert_non_null(f);
		same_word(&row->cell[i], f, r);
		columns++;
	}
	for (unsigned k = 0; k < *r->schema->n_fields; k++) {
		const struct rama_tab_field *f = &r->schema->fields[k];

		columns -= f->word != RAMA_TAB_NO_WORD &&
			   (f->place != RAMA_TAB_HIDDEN || f->type == RAMA_TAB_TEXT ||
			    f->type == RAMA_TAB_UUID);
	}
	assert_int_equal(columns, 0); /* all of them */
	return 0;
}

static void write_all(struct memfile *f)
{
	struct rng r = { 77 };
	struct rama_log_writer w;
	struct sample *x = calloc(1, sizeof(*x));

	writer_start(&w, f, 1);
	for (unsigned id = 1; id < RAMA_TAB_MODULES_KNOWN; id++) {
		const struct rama_tab_module *m = rama_tab_module_get(id);

		if (m == NULL)
			continue;
		assert_int_equal(rama_log_writer_module(&w, id, m->released), 0);
		for (unsigned i = 0; i < RECORDS + (m->header != NULL); i++) {
			sample_make(x, id, &r, i);
			sample_write(&w, x);
		}
	}
	writer_end(&w, 0);
	free(x);
}

static void all_counters(void **state)
{
	struct rama_store *s = fresh();
	struct rows *in = calloc(1, sizeof(*in));
	struct memfile f = { 0 };
	struct rama_store_log l;
	struct rama_err e = { 0 };
	unsigned tables = 0;

	(void)state;
	write_all(&f);
	reading_try(&in->in, f.bytes, f.n, false);
	l = log_of("1000/4242/1700000000/a", &in->in, &f);
	put_log(s, &l);
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		const struct rama_tab_module *m = rama_tab_module_get(id);
		char table[64], sql[128];

		if (m == NULL || !rama_store_table_name(m, table, sizeof(table)))
			continue;
		tables++;
		in->n = 0;
		snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY job, number", table);
		assert_int_equal(rama_log_cursor_open(&in->c, &in->in.log, id), 1);
		if (rama_store_select(s, sql, NULL, 0, same_row, in, &e) != 0)
			fail_msg("%s", e.text);
		rama_log_cursor_close(&in->c);
		assert_int_equal(in->n, RECORDS);
	}
	assert_int_equal(tables, 17);
	reading_close(&in->in);
	memfile_free(&f);
	free(in);
	rama_store_close(s);
}

/* ---- rows of the job ------------------------------------------------------------------------- */

static void row_of_a_log(void **state)
{
	struct rama_store *s = fresh();
	struct reading in;
	struct memfile f;
	struct rama_store_log l;
	struct rama_err e = { 0 };
	unsigned char *bytes;
	size_t n;

	(void)state;
	small_log(&f, &in, 1);
	l = log_of("1000/4242/1700000000/a", &in, &f);
	l.path = "/logs/a.darshan";
	assert_int_equal(rama_store_has_log(s, l.path, l.size, l.mtime_ns, &e), 0);
	assert_int_equal(put_log(s, &l), 1);
	assert_int_equal(rama_store_has_log(s, l.path, l.size, l.mtime_ns, &e), 1);
	assert_int_equal(rama_store_has_log(s, l.path, l.size + 1, l.mtime_ns, &e), 0);
	assert_int_equal(rama_store_has_log(s, l.path, l.size, l.mtime_ns + 1, &e), 0);
	assert_string_equal(text(s, "SELECT name || ' ' || username || ' ' || uid || ' ' || jobid "
				    "|| ' ' || state || ' ' || source || ' ' ||"
				    " nprocs || ' ' || nodes || ' ' || logged || ' ' || bytes_read "
				    "|| ' ' || bytes_written || ' ' || reads"
				    " || ' ' || writes || ' ' || metas || ' ' || files || ' ' || "
				    "command || ' ' || verdict FROM jobs"),
			    "app ada 1000 4242 done log 8 2 1 11 22 33 44 55 66 /opt/bin/app "
			    "--steps 10 It is slow.");
	assert_int_equal(number(s, "SELECT start_ns FROM jobs"), 1700000000250000000);
	assert_int_equal(number(s, "SELECT end_ns FROM jobs"), 1700000100750000000);
	assert_string_equal(text(s, "SELECT io_time FROM jobs"), "7.500000");
	assert_string_equal(text(s, "SELECT path FROM files"), "/scratch/out");
	assert_int_equal(number(s, "SELECT count(*) FROM findings"), 2);
	assert_string_equal(text(s, "SELECT cost FROM jobs"), "13.000000");
	assert_string_equal(text(s, "SELECT title FROM findings WHERE rule = 'W01'"),
			    "many small writes");
	assert_string_equal(text(s, "SELECT value FROM figures WHERE name = 'io_share'"),
			    "0.250000");
	assert_int_equal(number(s, "SELECT count(*) FROM figures"), 3);
	assert_int_equal(rama_store_log_bytes(s, 1, &bytes, &n, &e), 0);
	assert_int_equal(n, f.n);
	assert_memory_equal(bytes, f.bytes, n);
	free(bytes);
	assert_int_equal(rama_store_log_bytes(s, 77, &bytes, &n, &e), RAMA_EMISSING);
	reading_close(&in);
	memfile_free(&f);
	rama_store_close(s);
}

static void found_by_its_names(void **state)
{
	struct rama_store *s = fresh();
	struct reading in;
	struct memfile f;
	struct rama_store_log l;
	struct rama_err e = { 0 };
	int64_t job;

	(void)state;
	assert_int_equal(rama_store_find_job(s, "last", &job, &e), RAMA_EMISSING);
	small_log(&f, &in, 1);
	l = log_of("1000/4242/1700000000/a", &in, &f);
	put_log(s, &l);
	l.key = "1000/4242/1700000000/b";
	put_log(s, &l);
	assert_int_equal(job_number(s, "1000/4242/1700000000/b"), 2);
	assert_int_equal(job_number(s, "1"), 1);
	assert_int_equal(job_number(s, "4242"), 2); /* the newest of that number */
	assert_int_equal(job_number(s, "last"), 2);
	assert_int_equal(rama_store_find_job(s, "77", &job, &e), RAMA_EMISSING);
	assert_int_equal(rama_store_find_job(s, "x'y\"z", &job, &e), RAMA_EMISSING);
	assert_int_equal(rama_store_find_job(s, "\xff", &job, &e), RAMA_EMISSING);
	assert_int_equal(rama_store_find_job(s, "", &job, &e), RAMA_EMISSING);
	reading_close(&in);
	memfile_free(&f);
	rama_store_close(s);
}

/* what a log counts for among those of its day: once, and as its newest version says */
static void days_of_logs(void **state)
{
	struct rama_store *s = fresh();
	struct reading in;
	struct memfile f;
	struct rama_store_log l;

	(void)state;
	small_log(&f, &in, 1);
	l = log_of("1000/4242/1700000000/a", &in, &f);
	l.bytes_read = 1000;
	put_log(s, &l);
	put_log(s, &l);
	assert_int_equal(number(s, "SELECT jobs FROM days"), 1);
	assert_int_equal(number(s, "SELECT CAST(bytes_read AS BIGINT) FROM days"), 1000);
	assert_int_equal(number(s, "SELECT high + warn FROM days"),
			 number(s,
				"SELECT count(*) FROM findings WHERE level IN ('HIGH', 'WARN')"));
	l.bytes_read = 700;
	put_log(s, &l);
	assert_int_equal(number(s, "SELECT CAST(bytes_read AS BIGINT) FROM days"), 700);
	l.key = "1000/4242/1700000000/b";
	put_log(s, &l);
	assert_int_equal(number(s, "SELECT jobs FROM days"), 2);
	reading_close(&in);
	memfile_free(&f);
	rama_store_close(s);
}

/* ---- the same log ---------------------------------------------------------------------------- */

static void another_version_of_it(void **state)
{
	struct rama_store *s = fresh();
	struct reading in, in2;
	struct memfile f, f2;
	struct rama_store_log l;
	char *a, *b;

	(void)state;
	small_log(&f, &in, 1);
	small_log(&f2, &in2, 2);
	l = log_of("1000/4242/1700000000/b", &in2, &f2);
	l.path = "/logs/a.darshan";
	put_log(s, &l);
	a = content(s);
	rama_store_close(s);
	s = fresh();
	l = log_of("1000/4242/1700000000/b", &in, &f);
	l.path = "/logs/a.darshan";
	put_log(s, &l);
	l = log_of("1000/4242/1700000000/b", &in2, &f2);
	l.path = "/logs/a.darshan";
	assert_int_equal(put_log(s, &l), 1);
	b = content(s);
	assert_string_equal(a, b);
	assert_int_equal(number(s, "SELECT count(*) FROM counters_posix"), 1);
	free(a);
	free(b);
	reading_close(&in);
	reading_close(&in2);
	memfile_free(&f);
	memfile_free(&f2);
	rama_store_close(s);
}

static void live_job(struct rama_store *s, const char *key, bool ended)
{
	struct rama_wire_message m = process_of(key, 1, 1, 0);

	m.process.exe = "/opt/bin/app";
	m.process.jobid = 4242;
	m.process.start = 1700000000250000000 + 1000;
	m.process.made = 100;
	if (ended) {
		m.process.state = RAMA_WIRE_STATE_ENDED;
		m.process.end = 1700000100000000000;
	}
	begin(s);
	put(s, &m);
	m = block_of(key, 1, 0, 0, 100);
	put(s, &m);
	commit(s);
}

/* By an agent with the key of the job, from a folder with a key of its own, in any order: one
 * job. */
static void log_of_a_live_job(void **state)
{
	static const char order[][4] = { "lak", "lka", "kla", "alk", "akl", "kal", "la", "al" };
	char *want = NULL;

	(void)state;
	for (size_t i = 0; i < LENGTH(order); i++) {
		struct rama_store *s = fresh();
		struct reading in;
		struct memfile f;
		struct rama_store_log l;
		char *got;

		small_log(&f, &in, 1);
		for (unsigned k = 0; k < 3 && order[i][k] != '\0'; k++) {
			l = log_of(order[i][k] == 'a' ? "1000/run-5" : "1000/4242/1700000000/a",
				   &in, &f);
			l.hash = 0xdeadbeefdeadbeef;
			if (order[i][k] == 'l')
				live_job(s, "1000/run-5", true);
			else
				put_log(s, &l);
		}
		got = text(s, "SELECT count(*) FROM jobs")[0] == '1' ? content(s) : NULL;
		if (got == NULL)
			fail_msg("order %s: not one job", order[i]);
		assert_string_equal(text(s, "SELECT key FROM jobs"), "1000/run-5");
		assert_string_equal(text(s, "SELECT name || state || source || logged FROM jobs"),
				    "appdonelive1");
		assert_int_equal(number(s, "SELECT events FROM jobs"), 100);
		assert_int_equal(number(s, "SELECT bytes_written FROM jobs"), 22);
		assert_int_equal(number(s, "SELECT end_ns FROM jobs"), 1700000100750000000);
		assert_int_equal(number(s, "SELECT count(*) FROM counters_posix"), 1);
		/* which key its log has may differ, nothing else */
		*strstr(got, "|1000/run-5|") = '\0';
		if (want != NULL)
			assert_int_equal(strlen(want), strlen(got));
		free(want);
		want = got;
		reading_close(&in);
		memfile_free(&f);
		rama_store_close(s);
	}
	free(want);
}

/* a job that was seen live, and a log from a folder that must be its own: by all that both know */
static void log_without_the_key(void **state)
{
	struct rama_store *s = fresh();
	struct reading in;
	struct memfile f;
	struct rama_store_log l;

	(void)state;
	small_log(&f, &in, 1);
	l = log_of("1000/4242/1700000000/a", &in, &f);
	live_job(s, "1000/run-5", true);
	assert_int_equal(put_log(s, &l), 1);
	assert_int_equal(put_log(s, &l), 1);
	assert_string_equal(text(s, "SELECT key FROM jobs"), "1000/run-5");
	rama_store_close(s);
	s = fresh(); /* another program */
	l.name = "other";
	live_job(s, "1000/run-5", true);
	assert_int_equal(put_log(s, &l), 2);
	rama_store_close(s);
	s = fresh(); /* it runs: the log of another one */
	l.name = "app";
	live_job(s, "1000/run-5", false);
	assert_int_equal(put_log(s, &l), 2);
	reading_close(&in);
	memfile_free(&f);
	rama_store_close(s);
}

/* ---- names ----------------------------------------------------------------------------------- */

static int take_path(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	snprintf(ctx, 5000, "%s", row->cell[0].text);
	assert_int_equal(row->cell[0].len, strlen(ctx));
	return 0;
}

static void odd_names(void **state)
{
	char longest[1201], got[5000];
	struct {
		const char *path, *want;
	} cases[] = {
		{ longest, longest },
		{ "/a 'quoted' \"name\"\nof two\tlines;\\ -- $1 %s",
		  "/a 'quoted' \"name\"\nof two\tlines;\\ -- $1 %s" },
		{ "/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
		  "/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "/\xff\xc3(", "/\xef\xbf\xbd\xef\xbf\xbd(" },
		{ "/\xc0\xaf\xed\xa0\x80\xf5",
		  "/\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "/end\xe2\x82", "/end\xef\xbf\xbd\xef\xbf\xbd" },
		{ "", "" },
	};
	struct rama_store *s = fresh();
	struct rama_err e = { 0 };

	(void)state;
	for (size_t i = 0; i < 1200; i++)
		longest[i] = i % 100 == 0 ? '/' : i % 7 == 0 ? '"' : 'a' + (char)(i % 26);
	longest[1200] = '\0';
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct rama_wire_msg_name name = { i + 1, cases[i].path,
						   (uint32_t)strlen(cases[i].path) };
		struct rama_store_cell arg = { .type = RAMA_STORE_CELL_INT, .i = (int64_t)i + 1 };
		struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_NAMES,
					       .names = { "7/run", 1, &name } };

		put_one(s, &m);
		*got = '\0';
		if (rama_store_select(s, "SELECT path FROM files WHERE record = $1", &arg, 1,
				      take_path, got, &e) != 0)
			fail_msg("%s", e.text);
		assert_string_equal(got, cases[i].want);
	}
	rama_store_close(s);
}

UNIT_GROUP(log, test(all_counters), test(row_of_a_log), test(found_by_its_names),
	   test(days_of_logs), test(another_version_of_it), test(log_of_a_live_job),
	   test(log_without_the_key), test(odd_names))
