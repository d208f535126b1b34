/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emulate/own/own.h"
#include "emulate/work.h"

/* a stream from a list */
struct list {
	const struct rama_emu_step *steps;
	size_t n, at;
};

static int next(struct rama_emu_stream *me, struct rama_emu_step *s, struct rama_err *e)
{
	struct list *l = me->ctx;

	(void)e;
	if (l->at == l->n)
		return 0;
	*s = l->steps[l->at++];
	return 1;
}

static char folder[64];

static int run(const struct rama_emu_step *steps, size_t n, struct rama_emu_run_options *opt,
	       struct rama_emu_books *books, struct rama_err *e)
{
	struct list l = { steps, n, 0 };
	struct rama_emu_stream s = { next, &l };
	struct rama_emu_team t;
	int worst, rc;

	*books = (struct rama_emu_books){ 0 };
	assert_int_equal(rama_emu_team_local(&t, 1, e), 0);
	assert_int_equal(rama_emu_own_new(&opt->own, &t, e), 0);
	assert_int_equal(rama_emu_own_where(opt->own, folder, e), 0);
	assert_int_equal(rama_emu_own_enter(opt->own, true, e), 0);
	rc = rama_emu_run_stream(&s, opt, &t, books, e);
	rama_emu_own_free(opt->own, true);
	rama_emu_team_end(&t, 0, &worst, &(struct rama_err){ 0 });
	return rc;
}

#define SIZE 1000003
#define REQUEST 4097

/* requests of odd size over the whole unit, between open and close */
static size_t whole(struct rama_emu_step *s, struct rama_emu_unit *u, enum rama_emu_do what)
{
	size_t n = 0;
	int flags = what == RAMA_EMU_DO_READ
			    ? RAMA_EMU_OPEN_READ
			    : RAMA_EMU_OPEN_WRITE | RAMA_EMU_OPEN_CREATE | RAMA_EMU_OPEN_TRUNCATE;

	s[n++] = (struct rama_emu_step){ .what = RAMA_EMU_DO_OPEN, .unit = u, .flags = flags };
	for (int64_t at = 0; at < u->size; at += REQUEST)
		s[n++] = (struct rama_emu_step){ .what = what,
						 .unit = u,
						 .offset = at,
						 .length = u->size - at < REQUEST ? u->size - at
										  : REQUEST };
	if (what == RAMA_EMU_DO_WRITE)
		s[n++] = (struct rama_emu_step){ .what = RAMA_EMU_DO_SYNC, .unit = u };
	s[n++] = (struct rama_emu_step){ .what = RAMA_EMU_DO_CLOSE, .unit = u };
	if (what == RAMA_EMU_DO_WRITE)
		s[n++] = (struct rama_emu_step){ .what = RAMA_EMU_DO_READY, .unit = u };
	return n;
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/iorama-unit-XXXXXX");
	return mkdtemp(folder) == NULL;
}

static int drop_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void each_engine_writes_and_reads(void **state)
{
	struct rama_emu_step steps[SIZE / REQUEST + 8];

	(void)state;
	for (unsigned i = 0; rama_emu_engine_at(i) != NULL; i++) {
		const struct rama_emu_engine *g = rama_emu_engine_at(i);
		struct rama_emu_run_options opt = { .engine = g,
						    .opt = { .depth = 8, .vector = 3 },
						    .verify = strcmp(g->name, "null") != 0 };
		char path[128], *bytes = malloc(SIZE);
		struct rama_emu_unit u = {
			.name = "u", .path = path, .size = SIZE, .pattern = { 1, 2, 3 }
		};
		struct rama_emu_check_result r = { .first = -1 };
		struct rama_emu_books b;
		struct rama_err e = { 0 };
		struct stat st;
		int fd;

		snprintf(path, sizeof(path), "%s/%s", folder, g->name);
		if (run(steps, whole(steps, &u, RAMA_EMU_DO_WRITE), &opt, &b, &e) != 0 &&
		    strstr(e.text, "io_uring cannot be used here") == NULL &&
		    strcmp(g->name, "null") != 0)
			fail_msg("%s: %s", g->name, e.text);
		rama_emu_books_fini(&b);
		if (strcmp(g->name, "null") == 0 || e.code != 0) {
			free(bytes);
			continue;
		}
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_size, SIZE);
		fd = open(path, O_RDONLY);
		assert_int_equal(read(fd, bytes, SIZE), SIZE);
		close(fd);
		if (rama_emu_pattern_check(&u.pattern, bytes, SIZE, 0, &r) != 0)
			fail_msg("%s: wrong at %lld", g->name, (long long)r.first);
		if (run(steps, whole(steps, &u, RAMA_EMU_DO_READ), &opt, &b, &e) != 0)
			fail_msg("%s: %s", g->name, e.text);
		assert_int_equal(b.rank.bytes_read, SIZE);
		assert_int_equal(b.rank.reads, SIZE / REQUEST + 1);
		assert_int_equal(b.rank.flaws.first, -1);
		rama_emu_books_fini(&b);
		free(bytes);
	}
}

static void a_changed_byte_is_found(void **state)
{
	struct rama_emu_step steps[SIZE / REQUEST + 8];
	struct rama_emu_run_options opt = { .engine = rama_emu_engine_find("posix"),
					    .verify = true };
	char path[128];
	struct rama_emu_unit u = {
		.name = "u", .path = path, .size = SIZE, .pattern = { 1, 2, 3 }
	};
	struct rama_emu_books b;
	struct rama_err e = { 0 };
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/changed", folder);
	assert_int_equal(run(steps, whole(steps, &u, RAMA_EMU_DO_WRITE), &opt, &b, &e), 0);
	rama_emu_books_fini(&b);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd,
				"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
				32, 640),
			 32);
	close(fd);
	assert_int_equal(run(steps, whole(steps, &u, RAMA_EMU_DO_READ), &opt, &b, &e), 0);
	assert_int_equal(b.rank.flaws.first, 640);
	assert_int_equal(b.rank.flaws.bad[RAMA_EMU_FLAW_LOST], 32);
	rama_emu_books_fini(&b);
}

static void errors_name_the_place_and_leave_nothing(void **state)
{
	struct rama_emu_step steps[SIZE / REQUEST + 8];
	struct rama_emu_run_options opt = { .engine = rama_emu_engine_find("posix") };
	char path[128], part[160];
	struct rama_emu_unit u = {
		.name = "u", .path = path, .size = SIZE, .pattern = { 1, 2, 3 }
	};
	struct rama_emu_books b;
	struct rama_err e = { 0 };
	size_t n;

	(void)state;
	snprintf(path, sizeof(path), "%s/short", folder);
	n = whole(steps, &u, RAMA_EMU_DO_WRITE);
	steps[n - 4].length = -1; /* stands for any error in the middle */
	steps[n - 4].what = RAMA_EMU_DO_WAIT;
	steps[n - 4].strict = true;
	steps[n - 4].seconds = 0.01;
	assert_true(run(steps, n, &opt, &b, &e) < 0);
	assert_non_null(strstr(e.text, "not complete after 0.01 s"));
	assert_int_equal(access(path, F_OK), -1);
	snprintf(part, sizeof(part), "%s.part", path);
	assert_int_equal(access(part, F_OK), -1);
	rama_emu_books_fini(&b);

	snprintf(path, sizeof(path), "%s/changed", folder);
	u.size = SIZE + 1;
	assert_true(run(steps, whole(steps, &u, RAMA_EMU_DO_READ), &opt, &b, &e) < 0);
	assert_non_null(strstr(e.text, "changed: read at 1000003: the file ends there"));
	rama_emu_books_fini(&b);
}

UNIT_GROUP(run, cmocka_unit_test_setup(each_engine_writes_and_reads, make_folder),
	   test(a_changed_byte_is_found),
	   cmocka_unit_test_teardown(errors_name_the_place_and_leave_nothing, drop_folder))
