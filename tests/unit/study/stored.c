/* SPDX-License-Identifier: BSD-3-Clause */
#include "help.h"

#include <sys/stat.h>
#include <unistd.h>

#include "study/stored.h"

/* A job that was seen live: found, but there is nothing to study, and the line says what there
 * is. */
static void without_a_log(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = block_of("7/run-1", 1, 0, 0, 100);
	struct rama_study_stored_set x;
	struct rama_study_paths p = { 0 };
	struct rama_err e = { 0 };
	int64_t *jobs = NULL;

	(void)state;
	put_one(s, &m);
	assert_int_equal(rama_study_stored_set_find(s, "7/run-1", "/nowhere", &x, &e),
			 RAMA_EMISSING);
	assert_int_equal(x.job, 1);
	assert_non_null(strstr(e.text, "100 events"));
	rama_study_stored_set_fini(&x);
	assert_int_equal(rama_study_stored_set_find(s, "nobody", "", &x, &e), RAMA_EMISSING);
	assert_int_equal(x.job, -1);
	assert_int_equal(rama_study_stored_logs(s, &p, &jobs, &e), 0);
	assert_int_equal(p.n, 0);
	free(jobs);
	rama_study_paths_fini(&p);
	rama_store_close(s);
}

/* Segments of a job of one's own are found by its key, those of others and odd names are not. */
static void where_segments_are(void **state)
{
	char root[] = "/tmp/iorama-segs-XXXXXX", dir[64], key[64], path[PATH_MAX];

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(dir, sizeof(dir), "%s/run-5", root);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(key, sizeof(key), "%u/run-5@node", (unsigned)geteuid());
	assert_true(rama_study_stored_segments(key, root, path));
	assert_string_equal(path, dir);
	snprintf(key, sizeof(key), "%u/run-6", (unsigned)geteuid());
	assert_false(rama_study_stored_segments(key, root, path));
	snprintf(key, sizeof(key), "%u/run-5", (unsigned)geteuid() + 1);
	assert_false(rama_study_stored_segments(key, root, path));
	snprintf(key, sizeof(key), "%u/../run-5", (unsigned)geteuid());
	assert_false(rama_study_stored_segments(key, root, path));
	snprintf(key, sizeof(key), "%u/.", (unsigned)geteuid());
	assert_false(rama_study_stored_segments(key, root, path));
	snprintf(key, sizeof(key), "%u/", (unsigned)geteuid());
	assert_false(rama_study_stored_segments(key, root, path));
	if (geteuid() == 0) { /* somebody else's */
		snprintf(key, sizeof(key), "0/run-5");
		assert_int_equal(chown(dir, 65534, 65534), 0);
		assert_false(rama_study_stored_segments(key, root, path));
	}
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(rmdir(root), 0);
}

UNIT_GROUP(stored, test(without_a_log), test(where_segments_are))
