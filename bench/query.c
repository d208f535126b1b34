/* SPDX-License-Identifier: BSD-3-Clause */
/* query.c: how long a page of a list of jobs takes. `query STORE RUNS < LIST`: each line of the
 * list is a name, and words of `iorama jobs`, all with tabs between. Says for each: its name,
 * the least and the median of the runs in ms, how many jobs were found. A run opens nothing: it
 * is what a server that has the store open does for a request. */
#include <string.h>

#include "base/when.h"
#include "bench.h"
#include "query/jobs.h"

#define PAGE 50
#define RUNS_MOST 100

/* in ms */
static double now(void)
{
	return 1e3 * bench_clock(CLOCK_MONOTONIC);
}

static int take(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)row, (void)e;
	++*(unsigned *)ctx;
	return 0;
}

static int add(struct rama_query_jobs *q, const char *word, const char *value, struct rama_err *e)
{
	int64_t ns = 0;

	if (strcmp(word, "--sort") == 0)
		return rama_query_jobs_sort(q, value, e);
	if (strcmp(word, "--user") == 0)
		return rama_query_jobs_user(q, value, e);
	if (strcmp(word, "--name") == 0)
		return rama_query_jobs_name(q, value, e);
	if (strcmp(word, "--where") == 0)
		return rama_query_jobs_where(q, value, e);
	if (strcmp(word, "--finding") == 0)
		return rama_query_jobs_finding(q, value, e);
	if (strcmp(word, "--running") == 0)
		return rama_query_jobs_running(q, e);
	if (strcmp(word, "--word") == 0)
		return rama_query_jobs_word(q, value, e);
	if (!rama_when(value, 0, 0, &ns))
		return rama_err_set(e, RAMA_EUSAGE, "%s %s", word, value);
	return strcmp(word, "--since") == 0 ? rama_query_jobs_since(q, ns, e)
					    : rama_query_jobs_until(q, ns, e);
}

/* the columns that people see */
static void choose(struct rama_query_jobs *q)
{
	struct rama_query_metric m;

	for (unsigned i = 0; rama_query_metric_column(i, &m); i++)
		if (m.shown > 0)
			q->column[q->n_columns++] = m;
}

static void ask(struct rama_query_jobs *q, char *line)
{
	struct rama_err e = { 0 };
	char *save, *word;
	int rc = 0;

	rama_query_jobs_init(q);
	choose(q);
	q->limit = PAGE;
	for (word = strtok_r(line, "\t", &save); rc == 0 && word != NULL;) {
		bool alone = strcmp(word, "--running") == 0;
		char *value = alone ? NULL : strtok_r(NULL, "\t", &save);

		rc = add(q, word, value, &e);
		word = strtok_r(NULL, "\t", &save);
	}
	bench_must(rc == 0, &e);
}

/* page: 0 is the first one */
static void measure(struct rama_store *s, const char *name, const char *words, int runs, int page)
{
	double ms[RUNS_MOST];
	unsigned n = 0;

	for (int i = 0; i < runs; i++) {
		struct rama_query_jobs q;
		struct rama_err e = { 0 };
		char line[1000];

		snprintf(line, sizeof(line), "%s", words);
		ask(&q, line);
		for (int k = 0; k <= page; k++) {
			double start = now();

			n = 0;
			bench_must(rama_query_jobs_list(s, &q, take, &n, &e) == 0, &e);
			ms[i] = now() - start;
			if (q.next == NULL)
				break;
			rama_query_jobs_after(&q, q.next, &e);
		}
		rama_query_jobs_fini(&q);
	}
	qsort(ms, (size_t)runs, sizeof(*ms), bench_by_size);
	printf("%s%s\t%g\t%g\t%u\n", name, page > 0 ? ", a later page" : "", ms[0], ms[runs / 2],
	       n);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct rama_err e = { 0 };
	struct rama_store *s;
	char line[1000];
	int runs = argc > 2 ? atoi(argv[2]) : 0;

	if (runs < 1 || runs > RUNS_MOST) {
		fprintf(stderr, "usage: query STORE RUNS < LIST\n");
		return 2;
	}
	bench_must(rama_store_open(&s, argv[1], RAMA_STORE_READ, &e) == 0, &e);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		char *words;

		line[strcspn(line, "\n")] = '\0';
		words = strchr(line, '\t');
		if (words != NULL)
			*words++ = '\0';
		measure(s, line, words != NULL ? words : "", runs, 0);
		measure(s, line, words != NULL ? words : "", runs, 3);
	}
	rama_store_close(s);
	return 0;
}
