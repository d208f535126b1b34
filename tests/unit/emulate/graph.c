/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "emulate/graph/graph.h"
#include "graphs.h"

static void must_fail(const char *text, const char *words)
{
	struct rama_emu_graph g;
	struct rama_err e = { 0 };
	int rc;

	rama_emu_graph_init(&g);
	rc = rama_emu_graph_read(&g, NULL, text, strlen(text), &e);
	if (rc == 0)
		rc = rama_emu_graph_cut(&g, &e);
	if (rc == 0 || strstr(e.text, words) == NULL)
		fail_msg("\"%s\" instead of \"%s\" for:\n%s", e.text, words, text);
	assert_int_equal(rama_err_status(rc), 3);
	rama_emu_graph_fini(&g);
}

static const struct rama_emu_edge *edge(const struct rama_emu_graph *g, const char *task,
					const char *data, bool write)
{
	int64_t t = rama_emu_graph_find_task(g, task, strlen(task));
	int64_t d = rama_emu_graph_find_datum(g, data, strlen(data));

	for (uint32_t i = 0; i < g->n_edges; i++)
		if (g->edges[i].task == (uint32_t)t && g->edges[i].data == (uint32_t)d &&
		    g->edges[i].write == write)
			return &g->edges[i];
	return NULL;
}

/* ---- the paper's file ----------------------------------------------------------------------- */

static void the_papers_file_is_read(void **state)
{
	static const char text[] = "# a comment\n"
				   "\n"
				   "  TASK  T1   sim first 2.5\r\n"
				   "TASK T2 second 4 # the older form\n"
				   "DATA D1 one.dat 3\n"
				   "DATA D2 two.dat 2KiB TEMP LAZY_PERSIST\n"
				   "PARENT T1 CHILD D1 D2\n"
				   "PARENT D1 CHILD T2\n"
				   "NS_PARENT D2 NS_CHILD T2\n";
	struct rama_emu_graph g;

	(void)state;
	must_read(&g, text);
	assert_string_equal(g.format, "paper");
	assert_int_equal(g.n_tasks, 2);
	assert_string_equal(g.tasks[0].app, "sim");
	assert_string_equal(g.tasks[0].name, "first");
	assert_true(g.tasks[0].seconds == 2.5);
	assert_null(g.tasks[1].app);
	assert_int_equal(g.data[0].size, 3);
	assert_int_equal(g.data[1].size, 2048);
	assert_string_equal(g.data[1].note, "TEMP LAZY_PERSIST");
	assert_int_equal(g.n_edges, 4);
	assert_true(edge(&g, "T2", "D1", false)->strict);
	assert_false(edge(&g, "T2", "D2", false)->strict);
	assert_true(edge(&g, "T1", "D2", true)->write);
	rama_emu_graph_fini(&g);
}

static void applications_are_all_their_tasks(void **state)
{
	static const char text[] =
		"APP A one 2 1\nAPP B two 3 1\nDATA D d 1\nDATA E e 1\nDATA F f 1\n"
		"PARENT A CHILD D\nPARENT D CHILD B\nPARENT B CHILD D E F ACCESS 1\n";
	struct rama_emu_graph g;

	(void)state;
	must_read(&g, text);
	assert_int_equal(g.n_tasks, 5);
	assert_string_equal(g.tasks[3].id, "T4");
	assert_string_equal(g.tasks[3].name, "two.2");
	assert_int_equal(g.data[0].writers, 3); /* T1, T2 and, one to one, T3 */
	assert_int_equal(g.data[0].readers, 3);
	assert_non_null(edge(&g, "T4", "E", true));
	assert_null(edge(&g, "T4", "F", true));
	rama_emu_graph_fini(&g);
}

static void wrong_lines_are_named(void **state)
{
	(void)state;
	must_fail("TASK T1 a 1\nDATA D1 d\n", "line 2: DATA needs");
	must_fail("TASK T1 a x\n", "line 1: TASK: x is no time");
	must_fail("TASK T1 a 1\nTASK T1 b 1\n", "line 2: task T1 is there twice");
	must_fail("TASK T1 a 1\nPARENT T1\n", "line 2: PARENT without CHILD");
	must_fail("TASK T1 a 1\nPARENT T1 CHILD D9\n", "line 2: nothing is called D9");
	must_fail("TASK T1 a 1\nDATA D a 1\nDATA E b 1\nPARENT D CHILD E\n",
		  "data E cannot come from data D");
	must_fail("TASK T1 a 1\nTASK T2 a 1\nDATA D a 1\nPARENT T1 T2 CHILD D ACCESS 1\n",
		  "2 parents with 1 children");
	must_fail("TASK T1 a 1\nHELLO\n", "line 2: HELLO is none of");
	must_fail("APP A a 0 1\n", "0 is no number of processes");
	must_fail("DATA D a -1\n", "-1 is no size");
	must_fail("DATA D a 1\n", "no task");
	must_fail("", "no workflow that is known");
	must_fail("hello world\n", "no workflow that is known");
}

/* ---- the plan ------------------------------------------------------------------------------- */

static void a_plan_becomes_a_graph(void **state)
{
	static const char text[] =
		"WRITE\nD1:T1,T2\nD2:T3\nREAD\nD1:T3\nD2:T1\nD9:T2\nNONSTRICT\nD2:T1\n"
		"STAGES\n1:D1\n2:D2\n";
	struct rama_emu_graph g;
	struct rama_err e = { 0 };

	(void)state;
	must_read(&g, text);
	assert_string_equal(g.format, "plan");
	/* T1 writes in stage 1 and reads in stage 2; T2 writes in 1 and reads D9, of no stage;
	 * T3 reads, then writes */
	assert_int_equal(g.n_tasks, 6);
	assert_non_null(edge(&g, "T1.1w", "D1", true));
	assert_false(edge(&g, "T1.2r", "D2", false)->strict);
	assert_non_null(edge(&g, "T2.3r", "D9", false));
	assert_int_equal(g.n_warnings, 1);
	assert_non_null(strstr(g.warnings[0], "1 of 3 data units"));
	assert_int_equal(rama_emu_graph_cut(&g, &e), 0);
	rama_emu_graph_fini(&g);
}

/* All write one file, then all read it: no cycle. */
static void write_then_read_is_no_cycle(void **state)
{
	struct rama_emu_graph g;
	struct rama_err e = { 0 };
	uint32_t order[4];

	(void)state;
	must_read(&g, "WRITE\nC:T1,T2\nREAD\nC:T1,T2\nSTAGES\n0:C\n");
	assert_int_equal(g.n_tasks, 4);
	assert_int_equal(rama_emu_graph_cut(&g, &e), 0);
	assert_int_equal(rama_emu_graph_order(&g, order), 0);
	for (int i = 0; i < 4; i++) /* both writers before both readers */
		assert_int_equal(strchr(g.tasks[order[i]].id, 'w') != NULL, i < 2);
	rama_emu_graph_fini(&g);
}

/* ---- our own -------------------------------------------------------------------------------- */

static const char own_text[] =
	"[workflow]\nname = small\niterations = 3\n"
	"[data in]\nsize = 1.5 MiB\nfile = a b.dat\ntier = fast\n"
	"[data out]\n"
	"[task sim]\nranks = 4\ncompute = 250 ms\nreads = in, out?\nwrites = out\n"
	"[task look]\nruntime = 2 min\ncores = 0.5\nafter = sim\nreads = out\n"
	"[access sim in]\nfraction = 0.25\nrequest = 64 KiB\norder = random\nwhole = yes\n";

static void our_own_format_says_all(void **state)
{
	struct rama_emu_graph g;

	(void)state;
	must_read(&g, own_text);
	assert_string_equal(g.name, "small");
	assert_int_equal(g.iterations, 3);
	assert_int_equal(g.data[0].size, 1536 * 1024);
	assert_string_equal(g.data[0].name, "a b.dat");
	assert_string_equal(g.data[0].tier, "fast");
	assert_int_equal(g.data[1].size, -1);
	assert_int_equal(g.tasks[0].ranks, 4);
	assert_true(g.tasks[0].seconds == 0.25 && g.tasks[1].seconds == 120);
	assert_true(g.tasks[1].measured && !g.tasks[0].measured && g.tasks[1].cores == 0.5);
	assert_true(edge(&g, "sim", "in", false)->fraction == 0.25);
	assert_int_equal(edge(&g, "sim", "in", false)->request, 65536);
	assert_int_equal(edge(&g, "sim", "in", false)->order, RAMA_EMU_RANDOM);
	assert_true(edge(&g, "sim", "in", false)->whole);
	assert_false(edge(&g, "sim", "out", false)->strict);
	assert_true(edge(&g, "sim", "out", true)->strict);
	assert_int_equal(g.n_afters, 1);
	rama_emu_graph_fini(&g);
}

static void our_own_format_names_mistakes(void **state)
{
	(void)state;
	must_fail("[task a]\nreads = nothing\n", "line 2: reads: nothing is called nothing");
	must_fail("[task a]\nfoo = 1\n", "line 2: [task] has no foo");
	must_fail("[task a]\nranks = 0\n", "no number of processes");
	must_fail("[task a\n", "no ] at the end");
	must_fail("[task a]\nhello\n", "neither [section] nor key = value");
	must_fail("[data d]\nsize = 1 parsec\n[task a]\n", "1 parsec is no size");
	must_fail("[task a]\n[data d]\n[access a d]\nwhole = yes\n", "neither reads nor writes");
}

static void what_is_written_is_read_back(void **state)
{
	static const char *const formats[] = { "iorama", "paper", "wfformat" };
	struct rama_emu_graph g, back;

	(void)state;
	must_read(&g, own_text);
	for (size_t f = 0; f < LENGTH(formats); f++) {
		char *text = written(&g, formats[f]);

		must_read(&back, text);
		assert_string_equal(back.format, formats[f]);
		assert_int_equal(back.n_tasks, g.n_tasks);
		assert_int_equal(back.n_data, g.n_data);
		assert_int_equal(back.n_edges, g.n_edges);
		assert_int_equal(back.data[0].size, g.data[0].size);
		assert_non_null(edge(&back, "look", "out", false));
		assert_false(edge(&back, "sim", "out", false)->strict);
		rama_emu_graph_fini(&back);
		free(text);
	}
	free(written(&g, "dot"));
	rama_emu_graph_fini(&g);
}

/* ---- cycles --------------------------------------------------------------------------------- */

static void a_loose_edge_is_cut(void **state)
{
	struct rama_emu_graph g;
	struct rama_err e = { 0 };

	(void)state;
	must_read(&g, "TASK T1 a 1\nTASK T2 b 1\nDATA D1 c 1\nDATA D2 d 1\nPARENT T1 CHILD D1\n"
		      "PARENT D1 CHILD T2\nPARENT T2 CHILD D2\nNS_PARENT D2 NS_CHILD T1\n");
	assert_int_equal(rama_emu_graph_cut(&g, &e), 0);
	assert_true(edge(&g, "T1", "D2", false)->feedback);
	assert_false(edge(&g, "T2", "D1", false)->feedback);
	rama_emu_graph_fini(&g);
}

static void a_strict_cycle_is_named(void **state)
{
	(void)state;
	must_fail("TASK T1 a 1\nTASK T2 b 1\nDATA D1 c 1\nDATA D2 d 1\nPARENT T1 CHILD D1\n"
		  "PARENT D1 CHILD T2\nPARENT T2 CHILD D2\nPARENT D2 CHILD T1\n",
		  "T1 -> D1 -> T2 -> D2 -> T1");
}

/* Random graphs, loose edges anywhere: after the cut every edge goes forward, and what was
 * strict stays. */
static void any_graph_can_be_ordered(void **state)
{
	struct rng rng = { 5 };

	(void)state;
	for (int round = 0; round < 300; round++) {
		uint32_t n = 2 + (uint32_t)rng_below(&rng, 20), place[32], order[32], cut = 0;
		struct rama_emu_graph g;
		struct rama_err e = { 0 };
		char id[8];

		rama_emu_graph_init(&g);
		for (uint32_t i = 0; i < n; i++) {
			snprintf(id, sizeof(id), "n%u", i);
			assert_true(rama_emu_graph_task(&g, id, strlen(id), &e) >= 0);
			assert_true(rama_emu_graph_datum(&g, id, strlen(id), &e) >= 0);
			assert_int_equal(rama_emu_graph_edge(&g, i, i, true, true, &e), 0);
		}
		for (uint32_t k = 0; k < 3 * n; k++) { /* strict only from lower to higher */
			uint32_t a = (uint32_t)rng_below(&rng, n), b = (uint32_t)rng_below(&rng, n);

			assert_int_equal(rama_emu_graph_edge(&g, b, a, false, a < b, &e), 0);
		}
		assert_int_equal(rama_emu_graph_finish(&g, &e), 0);
		assert_int_equal(rama_emu_graph_cut(&g, &e), 0);
		assert_int_equal(rama_emu_graph_order(&g, order), 0);
		for (uint32_t i = 0; i < n; i++)
			place[order[i]] = i;
		for (uint32_t i = 0; i < g.n_edges; i++) {
			struct rama_emu_edge *x = &g.edges[i];

			cut += x->feedback;
			assert_false(x->strict && x->feedback);
			if (!x->write && !x->feedback)
				assert_true(place[x->data] < place[x->task]);
		}
		assert_true(round > 10 || cut < g.n_edges);
		rama_emu_graph_fini(&g);
	}
}

static void the_critical_path_is_the_longest(void **state)
{
	static const double seconds[] = { 1, 5, 2, 1 };
	struct rama_emu_graph g;
	uint32_t path[4];

	(void)state;
	must_read(&g, "[data a]\n[data b]\n[data c]\n[task t0]\nwrites = a\n[task t1]\nreads = "
		      "a\nwrites = b\n"
		      "[task t2]\nreads = a\nwrites = c\n[task t3]\nreads = b, c\n");
	assert_int_equal(rama_emu_graph_critical(&g, seconds, path), 3);
	assert_int_equal(path[0], 0);
	assert_int_equal(path[1], 1);
	assert_int_equal(path[2], 3);
	assert_int_equal(rama_emu_graph_stages(&g), 0);
	assert_int_equal(g.tasks[3].stage, 2);
	rama_emu_graph_fini(&g);
}

UNIT_GROUP(graph, test(the_papers_file_is_read), test(applications_are_all_their_tasks),
	   test(wrong_lines_are_named), test(a_plan_becomes_a_graph),
	   test(write_then_read_is_no_cycle), test(our_own_format_says_all),
	   test(our_own_format_names_mistakes), test(what_is_written_is_read_back),
	   test(a_loose_edge_is_cut), test(a_strict_cycle_is_named), test(any_graph_can_be_ordered),
	   test(the_critical_path_is_the_longest))
