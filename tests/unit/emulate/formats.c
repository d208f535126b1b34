/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "emulate/graph/graph.h"
#include "emulate/graph/graph_walk.h"
#include "graphs.h"

static void any_name_comes_through_our_own_format(void **state)
{
	static const char *const names[] = { "a b",	  "a_b",       "a,b", "[x]",	"q?",
					     "#h",	  "k=v",       "50%", "%41",	"\x7f",
					     "tab\there", "line\nend", "ü",   " edge ", "%",
					     "%4",	  "%%2C" };
	enum { N = sizeof(names) / sizeof(names[0]) };
	struct rama_err e = { 0 };
	struct rama_emu_graph g, back;
	char *text;

	(void)state;
	rama_emu_graph_init(&g);
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(rama_emu_graph_task(&g, names[i], strlen(names[i]), &e), i);
		assert_int_equal(rama_emu_graph_datum(&g, names[i], strlen(names[i]), &e), i);
		g.tasks[i].app = names[N - 1 - i];
		assert_int_equal(rama_emu_graph_edge(&g, i, i, true, true, &e), 0);
		if (i > 0)
			assert_int_equal(rama_emu_graph_after(&g, i - 1, i, i % 2 == 0, &e), 0);
	}
	assert_int_equal(rama_emu_graph_finish(&g, &e), 0);
	text = written(&g, "iorama");
	must_read(&back, text);
	assert_int_equal(back.n_tasks, N);
	assert_int_equal(back.n_afters, N - 1);
	for (uint32_t i = 0; i < N; i++) {
		assert_string_equal(back.tasks[i].id, names[i]);
		assert_string_equal(back.tasks[i].app, names[N - 1 - i]);
		assert_string_equal(back.data[back.edges[i].data].id, names[i]);
	}
	free(text);
	rama_emu_graph_fini(&back);
	rama_emu_graph_fini(&g);
}

static void names_that_the_paper_cannot_hold_stay_apart(void **state)
{
	struct rama_err e = { 0 };
	struct rama_emu_graph g, back;
	char *text;

	(void)state;
	must_read(
		&g,
		"[task a%20b]\n[task a_b]\n[task CHILD]\nwrites = x%23y\n[data x%23y]\nsize = 7\n");
	text = written(&g, "paper");
	must_read(&back, text);
	assert_int_equal(back.n_tasks, 3);
	assert_int_equal(back.n_edges, 1);
	assert_int_equal(back.edges[0].task, 2);
	assert_int_equal(back.data[0].size, 7);
	assert_int_equal(rama_emu_graph_cut(&back, &e), 0);
	free(text);
	rama_emu_graph_fini(&back);
	rama_emu_graph_fini(&g);
}

static void loose_relations_survive_wfformat(void **state)
{
	struct rama_emu_graph g, back;
	char *text;

	(void)state;
	must_read(&g, "[workflow]\nname = w\niterations = 5\n[data d]\n[task a]\nranks = "
		      "3\ncompute = 2\nwrites = d\n"
		      "[task b]\nreads = d?\nruntime = 4\n");
	text = written(&g, "wfformat");
	must_read(&back, text);
	assert_int_equal(back.iterations, 5);
	assert_int_equal(back.tasks[0].ranks, 3);
	assert_false(back.tasks[0].measured);
	assert_true(back.tasks[1].measured);
	assert_true(back.tasks[0].seconds == 2 && back.tasks[1].seconds == 4);
	assert_int_equal(back.data[0].size, -1); /* nobody said it */
	assert_int_equal(back.n_edges, 2);
	assert_true(back.edges[0].write && back.edges[0].strict);
	assert_false(back.edges[1].write || back.edges[1].strict);
	assert_int_equal(back.n_afters, 0);
	free(text);
	rama_emu_graph_fini(&back);
	rama_emu_graph_fini(&g);
}

/* Bytes of old versions are kB, unless Pegasus counted them; units in the names of keys are
 * bytes. */
static void old_units_are_understood(void **state)
{
	static const struct {
		const char *system, *key;
		int64_t bytes;
	} rows[] = { { "Makeflow", "bytesRead", 5000 },
		     { "Pegasus", "bytesRead", 5 },
		     { "Makeflow", "readBytes", 5 } };
	char text[300];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rama_emu_graph g;

		snprintf(text, sizeof(text),
			 "{\"wms\": {\"name\": \"%s\"}, \"workflow\": {\"jobs\": [{\"name\": "
			 "\"a\", \"%s\": 5}]}}",
			 rows[i].system, rows[i].key);
		must_read(&g, text);
		assert_int_equal(g.tasks[0].read_bytes, rows[i].bytes);
		rama_emu_graph_fini(&g);
	}
}

static void levels_of_a_picture_go_down(void **state)
{
	struct rama_emu_graph g;
	uint32_t level[8];
	char *text;

	(void)state;
	must_read(&g, "[data x]\n[data y]\n[task a]\nwrites = x\nreads = y\n[task b]\nreads = "
		      "x\nwrites = y\n[task c]\nafter = b\n");
	/* not cut, and strict all around: a picture can be made of it all the same */
	assert_int_equal(rama_emu_graph_levels(&g, level), 0);
	assert_int_equal(level[0], 0);
	assert_int_equal(level[3], 1);
	assert_int_equal(level[1], 2);
	assert_int_equal(level[2], 3);
	text = written(&g, "svg");
	assert_non_null(strstr(text, "</svg>"));
	free(text);
	rama_emu_graph_fini(&g);
}

static void a_critical_path_follows_what_is_waited_for(void **state)
{
	static const double seconds[] = { 1, 10, 2 };
	struct rama_err e = { 0 };
	struct rama_emu_graph g;
	uint32_t path[3];

	(void)state;
	must_read(&g, "[data x]\n[data y]\n[task a]\nwrites = x\n[task b]\nreads = x?\n[task "
		      "c]\nreads = x\nwrites = y\n");
	assert_int_equal(rama_emu_graph_cut(&g, &e), 0);
	assert_int_equal(rama_emu_graph_critical(&g, seconds, path),
			 1); /* b alone: it waits for nobody */
	assert_int_equal(path[0], 1);
	g.edges[1].strict = true;
	assert_int_equal(rama_emu_graph_critical(&g, seconds, path), 2);
	assert_int_equal(path[0], 0);
	rama_emu_graph_fini(&g);
}

static void a_write_that_is_cut_feeds_back(void **state)
{
	struct rama_err e = { 0 };
	struct rama_emu_graph g;

	(void)state;
	must_read(&g, "TASK t1 a 0\nTASK t2 b 0\nDATA d1 x 1\nDATA d2 y 1\nPARENT d1 CHILD "
		      "t1\nPARENT t1 CHILD d2\n"
		      "PARENT d2 CHILD t2\nNS_PARENT t2 NS_CHILD d1\n");
	assert_int_equal(rama_emu_graph_cut(&g, &e), 0);
	assert_true(g.data[0].fed_back);
	assert_false(g.data[1].fed_back);
	rama_emu_graph_fini(&g);
}

UNIT_GROUP(formats, test(any_name_comes_through_our_own_format),
	   test(names_that_the_paper_cannot_hold_stay_apart),
	   test(loose_relations_survive_wfformat), test(old_units_are_understood),
	   test(levels_of_a_picture_go_down), test(a_critical_path_follows_what_is_waited_for),
	   test(a_write_that_is_cut_feeds_back))
