/* SPDX-License-Identifier: BSD-3-Clause */
/* one.c: one segment becomes a log. */
#include "check.h"

#define BIT(module) (1ull << RAMA_TAB_MOD_##module)

static struct rama_core_op moved(enum rama_tab_opkind kind, int64_t off, int64_t bytes, uint64_t t0,
				 uint64_t t1)
{
	return (struct rama_core_op){ .kind = (uint8_t)kind,
				      .ok = true,
				      .has_off = true,
				      .off = off,
				      .bytes = bytes,
				      .t0 = t0,
				      .t1 = t1 };
}

static void empty_process(void **st)
{
	struct check_record *r;
	struct check *c;
	struct seg s;

	(void)st;
	seg_make(&s, 4, 1, 0);
	c = check_one(&s, &check_alone);
	assert_int_equal(c->partial, 0);
	assert_int_equal(c->log.job.start_sec, 1700000000);
	assert_int_equal(c->log.job.start_nsec, 0);
	assert_int_equal(c->log.job.end_sec, 1700000010);
	assert_int_equal(c->log.job.nprocs, 1);
	assert_int_equal(c->log.job.uid, 1000);
	assert_int_equal(c->log.job.jobid, 4242);
	assert_string_equal(c->log.job.exe, "work --hard");
	assert_string_equal(c->log.job.metadata, "lib_ver=iorama-" IORAMA_BUILD_VERSION "\n");
	assert_int_equal(c->log.n_mounts, 2);
	assert_string_equal(c->log.mounts[0].path, "/home");
	assert_string_equal(c->log.mounts[0].type, "nfs");
	for (unsigned id = 0; id < RAMA_TAB_MODULES; id++)
		assert_int_equal(c->log.part[id].version, id == RAMA_TAB_MOD_PROCESS ? 2 : 0);
	r = check_get(c, RAMA_TAB_MOD_PROCESS, 0);
	assert_int_equal(r->w[RAMA_TAB_PROCESS_PID].i, 100);
	assert_int_equal(r->w[RAMA_TAB_PROCESS_PPID].i, 99);
	assert_int_equal(r->w[RAMA_TAB_PROCESS_PARENT_RANK].i, -1);
	assert_int_equal(r->w[RAMA_TAB_PROCESS_ENDED].i, 1);
	assert_float_equal(r->w[RAMA_TAB_PROCESS_F_END_TIMESTAMP].f, 10, 1e-9);
	assert_string_equal((char *)&r->w[RAMA_TAB_PROCESS_HOSTNAME], "node1");
	assert_int_equal(r->r.count[0], 2);
	assert_memory_equal(r->array[0], "work --hard\0\0\0\0", 16);
	check_end(c);
	seg_free(&s);
}

static void registered_without_records(void **st)
{
	struct check *c;
	struct seg s;

	(void)st;
	seg_make(&s, 4, 0, 0);
	s.state->registered = BIT(POSIX) | BIT(STDIO) | BIT(DXT_POSIX);
	c = check_one(&s, &check_alone);
	assert_int_equal(c->log.part[RAMA_TAB_MOD_POSIX].version, 4);
	assert_int_equal(c->log.part[RAMA_TAB_MOD_STDIO].version, 2);
	assert_int_equal(c->log.part[RAMA_TAB_MOD_DXT_POSIX].version, 1);
	assert_int_equal(c->log.part[RAMA_TAB_MOD_POSIX].len, 0);
	assert_int_equal(c->log.part[RAMA_TAB_MOD_EXTRA].version, 0);
	check_end(c);
	seg_free(&s);
}

static void counters_arrive(void **st)
{
	struct rama_core_posix_file *f;
	struct rama_core_stdio_file *g;
	struct check_record *r;
	struct check *c;
	struct rama_core_op op = moved(RAMA_TAB_OP_WRITE, 0, 4096, SEG_SECOND, 2 * SEG_SECOND);
	struct rama_gather_process p = check_alone;
	struct seg s;

	(void)st;
	p.rank = 3;
	p.nprocs = 5;
	seg_make(&s, 4, 0, 0);
	seg_name(&s, "/never/used");
	f = seg_posix(&s, seg_name(&s, "/data/a"));
	rama_core_posix_apply(f, &op);
	g = seg_stdio(&s, seg_name(&s, "/data/b"), false);
	op = moved(RAMA_TAB_OP_READ, 0, 10, 3 * SEG_SECOND, 4 * SEG_SECOND);
	rama_core_stdio_apply(g, &op);
	c = check_one(&s, &p);
	assert_int_equal(c->partial, 0);
	assert_int_equal(c->log.job.nprocs, 5);
	r = check_get(c, RAMA_TAB_MOD_POSIX, 0);
	assert_string_equal(check_name(c, r->w[RAMA_TAB_ID].u), "/data/a");
	assert_int_equal(r->w[RAMA_TAB_RANK].i, 3);
	assert_int_equal(r->w[RAMA_TAB_POSIX_WRITES].i, 1);
	assert_int_equal(r->w[RAMA_TAB_POSIX_BYTES_WRITTEN].i, 4096);
	assert_int_equal(r->w[RAMA_TAB_POSIX_ACCESS1_ACCESS].i, 4096);
	assert_float_equal(r->w[RAMA_TAB_POSIX_F_WRITE_TIME].f, 1, 1e-9);
	assert_float_equal(r->w[RAMA_TAB_POSIX_F_WRITE_START_TIMESTAMP].f, 1, 1e-9);
	r = check_get(c, RAMA_TAB_MOD_STDIO, 0);
	assert_string_equal(check_name(c, r->w[RAMA_TAB_ID].u), "/data/b");
	assert_int_equal(r->w[RAMA_TAB_STDIO_BYTES_READ].i, 10);
	assert_float_equal(r->w[RAMA_TAB_STDIO_F_READ_END_TIMESTAMP].f, 4, 1e-9);
	assert_null(check_name(c, rama_core_record_id("/never/used", 11)));
	assert_non_null(check_name(c, rama_core_record_id("PROCESS", 7)));
	check_end(c);
	seg_free(&s);
}

static void idle_standard_streams_are_dropped(void **st)
{
	struct rama_core_stdio_file *f;
	struct rama_core_op op = moved(RAMA_TAB_OP_WRITE, 0, 5, 1, 2);
	struct check *c;
	struct seg s;

	(void)st;
	seg_make(&s, 5, 0, 0);
	seg_stdio(&s, seg_name(&s, "<STDIN>"), true);
	f = seg_stdio(&s, seg_name(&s, "<STDOUT>"), true);
	rama_core_stdio_apply(f, &op);
	seg_stdio(&s, seg_name(&s, "/idle"), false); /* an ordinary file stays */
	c = check_one(&s, &check_alone);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_STDIO), 2);
	assert_string_equal(check_name(c, check_get(c, RAMA_TAB_MOD_STDIO, 0)->w[RAMA_TAB_ID].u),
			    "<STDOUT>");
	assert_string_equal(check_name(c, check_get(c, RAMA_TAB_MOD_STDIO, 1)->w[RAMA_TAB_ID].u),
			    "/idle");
	check_end(c);
	seg_free(&s);
}

static void halves_of_extra_are_joined(void **st)
{
	uint32_t both, posix, extra, none;
	struct check_record *r;
	struct check *c;
	struct seg s;

	(void)st;
	seg_make(&s, 8, 0, 0);
	both = seg_name(&s, "/both");
	posix = seg_name(&s, "/posix");
	extra = seg_name(&s, "/extra");
	none = seg_name(&s, "/none");
	seg_posix(&s, both)->more[0].i = 7; /* SEQ_READS */
	seg_posix(&s, posix)->more[1].i = 8;
	seg_posix(&s, none);
	seg_extra(&s, extra)->w[RAMA_TAB_EXTRA_STATS].i = 9;
	seg_extra(&s, both)->w[RAMA_TAB_EXTRA_UNLINKS].i = 10;
	seg_extra(&s, none);
	c = check_one(&s, &check_alone);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_EXTRA), 3);
	r = check_get(c, RAMA_TAB_MOD_EXTRA, 0);
	assert_string_equal(check_name(c, r->w[RAMA_TAB_ID].u), "/both");
	assert_int_equal(r->w[RAMA_TAB_EXTRA_SEQ_READS].i, 7);
	assert_int_equal(r->w[RAMA_TAB_EXTRA_UNLINKS].i, 10);
	r = check_get(c, RAMA_TAB_MOD_EXTRA, 1);
	assert_string_equal(check_name(c, r->w[RAMA_TAB_ID].u), "/posix");
	assert_int_equal(r->w[RAMA_TAB_EXTRA_CONSEC_READS].i, 8);
	r = check_get(c, RAMA_TAB_MOD_EXTRA, 2);
	assert_string_equal(check_name(c, r->w[RAMA_TAB_ID].u), "/extra");
	assert_int_equal(r->w[RAMA_TAB_EXTRA_STATS].i, 9);
	check_end(c);
	seg_free(&s);
}

/* ---- what is missing is said ----------------------------------------------------------------- */

static void catch_all(void **st)
{
	struct rama_core_posix_file *f;
	struct rama_core_op op = moved(RAMA_TAB_OP_READ, 0, 100, 1, 2);
	struct check *c;
	struct seg s;

	(void)st;
	seg_make(&s, 4, 0, 0);
	f = seg_slot(&s, RAMA_SEG_KIND_POSIX, 0); /* slot 0, without a name of its own */
	rama_core_posix_init(f, rama_core_record_id("<OTHERS>", 8), 8, 4096);
	c = check_one(&s, &check_alone);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_POSIX), 0);
	check_end(c);
	s.state->folded[0] = 3; /* all of them are in groups: nobody has used it */
	c = check_one(&s, &check_alone);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_POSIX), 0);
	check_end(c);
	rama_core_posix_apply(f, &op);
	f->seq = 2;
	c = check_one(&s, &check_alone);
	assert_int_equal(c->partial, BIT(POSIX));
	assert_string_equal(check_name(c, check_get(c, RAMA_TAB_MOD_POSIX, 0)->w[RAMA_TAB_ID].u),
			    "<OTHERS>");
	assert_int_equal(check_get(c, RAMA_TAB_MOD_POSIX, 0)->w[RAMA_TAB_POSIX_BYTES_READ].i, 100);
	assert_int_equal(check_get(c, RAMA_TAB_MOD_PROCESS, 0)->w[RAMA_TAB_PROCESS_FILES_FOLDED].i,
			 3);
	check_end(c);
	f->name = seg_name(&s, "<OTHERS>"); /* with one */
	c = check_one(&s, &check_alone);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_POSIX), 1);
	assert_string_equal(check_name(c, check_get(c, RAMA_TAB_MOD_POSIX, 0)->w[RAMA_TAB_ID].u),
			    "<OTHERS>");
	check_end(c);
	seg_free(&s);
}

static void torn_slots_are_kept(void **st)
{
	struct rama_core_posix_file *f;
	struct check *c;
	struct seg s;

	(void)st;
	seg_make(&s, 4, 0, 0);
	seg_stdio(&s, seg_name(&s, "/b"), false);
	f = seg_posix(&s, seg_name(&s, "/a"));
	f->w[RAMA_TAB_POSIX_OPENS].i = 5;
	f->seq = 3;
	c = check_one(&s, &check_alone);
	assert_int_equal(c->partial, RAMA_LOG_PARTIAL_END);
	assert_int_equal(check_get(c, RAMA_TAB_MOD_POSIX, 0)->w[RAMA_TAB_POSIX_OPENS].i, 5);
	check_end(c);
	seg_free(&s);
}

static void unfinished_marks_every_module(void **st)
{
	struct rama_gather_process p = check_alone;
	struct check *c;
	struct seg s;

	(void)st;
	p.incomplete = true;
	p.ended = 0;
	seg_make(&s, 4, 0, 0);
	s.state->phase = RAMA_SEG_RUNNING;
	seg_posix(&s, seg_name(&s, "/a"));
	c = check_one(&s, &p);
	assert_int_equal(c->partial, RAMA_LOG_PARTIAL_END);
	check_end(c);
	seg_free(&s);
}

static void forks_name_their_parent(void **st)
{
	struct rama_gather_process p = check_alone;
	struct check *c;
	struct seg s;

	(void)st;
	p.note = "hello=world\n";
	seg_make(&s, 4, 0, 0);
	s.id->flags = RAMA_SEG_FORKED;
	s.state->partial = BIT(STDIO);
	s.state->registered = BIT(STDIO);
	s.state->missed = 5;
	c = check_one(&s, &p);
	assert_int_equal(c->partial, BIT(STDIO));
	assert_string_equal(c->log.job.metadata, "lib_ver=iorama-" IORAMA_BUILD_VERSION
						 "\nfork_parent=99\nhello=world\n");
	assert_int_equal(check_get(c, RAMA_TAB_MOD_PROCESS, 0)->w[RAMA_TAB_PROCESS_FORKED].i, 1);
	assert_int_equal(check_get(c, RAMA_TAB_MOD_PROCESS, 0)->w[RAMA_TAB_PROCESS_CALLS_MISSED].i,
			 5);
	check_end(c);
	seg_free(&s);
}

/* slots of nobody, of names that are not there, twice the same name */
static void strange_slots_do_no_harm(void **st)
{
	uint32_t a;
	struct check *c;
	struct seg s;

	(void)st;
	seg_make(&s, 8, 0, 0);
	a = seg_name(&s, "/a");
	seg_posix(&s, a);
	seg_posix(&s, a);
	seg_posix(&s, a)->name = 77777;
	seg_posix(&s, a)->name = 0;
	c = check_one(&s, &check_alone);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_POSIX), 1);
	assert_int_equal(c->partial, BIT(POSIX));
	check_end(c);
	seg_free(&s);
}

static void damage_marks_every_module(void **st)
{
	struct rama_seg_name *second;
	struct check *c;
	struct seg s;
	size_t whole;

	(void)st;
	seg_make(&s, 4, 0, 0);
	seg_posix(&s, seg_name(&s, "/a"));
	whole = s.size;
	/* the rest of the file is missing */
	s.size = (size_t)((unsigned char *)seg_slot(&s, RAMA_SEG_KIND_EXTRA, 0) - s.bytes);
	c = check_one(&s, &check_alone);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_POSIX), 1);
	assert_int_equal(c->partial, BIT(POSIX) | BIT(PROCESS));
	check_end(c);
	s.size = whole;
	second = (void *)((char *)seg_area(&s, RAMA_SEG_AREA_RECORDS) + s.state->names_used);
	seg_stdio(&s, seg_name(&s, "/lost"), false);
	second->len = UINT32_MAX;
	c = check_one(&s, &check_alone);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_POSIX), 1);
	/* of a file that nobody can name */
	assert_int_equal(check_count(c, RAMA_TAB_MOD_STDIO), 0);
	assert_int_equal(c->partial, BIT(POSIX) | BIT(STDIO) | BIT(PROCESS));
	check_end(c);
	seg_free(&s);
}

static void commands_of_several_lines(void **st)
{
	static const char command[] = "sh -c a\n\tb";
	struct check *c;
	struct seg s;

	(void)st;
	seg_make(&s, 4, 0, 0);
	seg_text(s.id->command, sizeof(s.id->command), command);
	c = check_one(&s, &check_alone);
	assert_string_equal(c->log.job.exe, "sh -c a  b"); /* mounts follow on lines of their own */
	assert_int_equal(c->log.n_mounts, 2);
	assert_memory_equal(check_get(c, RAMA_TAB_MOD_PROCESS, 0)->array[0], command,
			    sizeof(command));
	check_end(c);
	memset(s.id->command, 'x', sizeof(s.id->command)); /* the longest */
	c = check_one(&s, &check_alone);
	assert_int_equal(check_get(c, RAMA_TAB_MOD_PROCESS, 0)->r.count[0], 512);
	assert_non_null(strstr(c->log.job.exe, "x<TRUNCATED>"));
	check_end(c);
	seg_free(&s);
}

UNIT_GROUP(one, test(empty_process), test(registered_without_records), test(counters_arrive),
	   test(idle_standard_streams_are_dropped), test(halves_of_extra_are_joined),
	   test(catch_all), test(torn_slots_are_kept), test(unfinished_marks_every_module),
	   test(forks_name_their_parent), test(strange_slots_do_no_harm),
	   test(damage_marks_every_module), test(commands_of_several_lines))
