/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <unistd.h>

#include "diagnose/diagnose.h"
#include "index/index.h"
#include "query/metric.h"

/* figures have one name each, whoever made them */
static void names_differ(void **st)
{
	(void)st;
	for (unsigned i = 0; i < rama_query_n_figures; i++) {
		assert_true(strlen(rama_query_figures[i].doc) > 0);
		for (unsigned k = 0; k < rama_diag_n_facts; k++)
			assert_string_not_equal(rama_query_figures[i].name,
						rama_diag_fact_info[k].name);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(rama_query_figures[i].name,
						rama_query_figures[k].name);
	}
}

/* what is no log leaves the store as it was, and the batch can go on */
static void no_log(void **st)
{
	char dir[] = "/tmp/iorama-unit-XXXXXX", path[64], long_key[2 * RAMA_WIRE_JOB];
	unsigned char noise[3000];
	struct rng r = { 1 };
	struct rama_wire_msg_log m = {
		.job = "1/run-1", .name = "", .bytes = noise, .len = sizeof(noise)
	};
	struct rama_store_counts c;
	struct rama_store *s;
	struct rama_err e = { 0 };

	(void)st;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/store.db", dir);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (unsigned char)rng_u64(&r);
	assert_int_equal(rama_store_open(&s, path, RAMA_STORE_WRITE | RAMA_STORE_CREATE, &e), 0);
	assert_int_equal(rama_store_begin(s, &e), 0);
	assert_int_equal(rama_index_log(s, &m, &e), RAMA_EFORMAT);
	m.len = 0;
	assert_true(rama_index_log(s, &m, &e) < 0);
	assert_true(rama_index_path(s, "/nowhere/at.all", NULL, &e) < 0);
	memset(long_key, 'k', sizeof(long_key) - 1);
	long_key[sizeof(long_key) - 1] = '\0';
	m.job = long_key;
	assert_int_equal(rama_index_log(s, &m, &e), RAMA_ELIMIT);
	assert_int_equal(rama_store_commit(s, &e), 0);
	assert_int_equal(rama_store_stats(s, &c, &e), 0);
	assert_int_equal(c.jobs, 0);
	assert_int_equal(c.logs, 0);
	rama_store_close(s);
	unlink(path);
	rmdir(dir);
}

UNIT_GROUP(index, test(names_differ), test(no_log))
