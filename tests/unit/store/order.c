/* SPDX-License-Identifier: BSD-3-Clause */
/* messages of a job in any order, some of them twice: the store ends up with the same content */
#include "help.h"

#include <sys/wait.h>
#include <unistd.h>

#include "wire/message.h"

#define MOST 400

struct parcel {
	unsigned char *b;
	size_t n;
};

struct parcels {
	struct parcel p[MOST];
	size_t n;
};

static void add(struct parcels *to, const struct rama_wire_message *m)
{
	struct rama_wire_bytes bytes = { 0 };
	struct rama_err e = { 0 };

	if (rama_wire_message_encode(m, &bytes, &e) != 0)
		fail_msg("%s", e.text);
	assert_true(to->n < MOST);
	to->p[to->n++] = (struct parcel){ bytes.b, bytes.n };
}

static void add_names(struct parcels *to, const char *job, uint64_t from, uint32_t n)
{
	struct rama_wire_msg_name name[8];
	char path[8][32];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(path[i], sizeof(path[i]), "/data/file%llu",
			 (unsigned long long)(from + i));
		name[i] = (struct rama_wire_msg_name){ 0xf000000000000000u + from + i, path[i],
						       (uint32_t)strlen(path[i]) };
	}
	add(to,
	    &(struct rama_wire_message){ .kind = RAMA_WIRE_MSG_NAMES, .names = { job, n, name } });
}

static void add_activity(struct parcels *to, const char *job, unsigned process, int64_t rank,
			 int64_t second)
{
	struct rama_wire_msg_gain gain[2] = { { "POSIX", 10, 20, 3, 1000, 2000, 100, 200, 30 },
					      { "MPI-IO", 5, 6, 0, 1000, 2000, 300, 400, 0 } };
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_ACTIVITY,
				       .activity = { .job = job,
						     .rank = rank,
						     .t = T0 + second * 1000000000,
						     .width = 1000000000,
						     .n = 2,
						     .gain = gain } };

	m.activity.segment = key_of(process);
	add(to, &m);
}

static void add_sample(struct parcels *to, int64_t second)
{
	struct rama_wire_msg_figure f[2] = { { "cpu.user", 0.25 * (double)second }, { "load", 3 } };

	add(to,
	    &(struct rama_wire_message){ .kind = RAMA_WIRE_MSG_SAMPLE,
					 .sample = { "node1", T0 + second * 1000000000, 2, f } });
}

/* Four processes begin in a directory of their own or a common one, become ranks of another job,
 * make events in two lanes, and end; one is killed. */
static void make(struct parcels *to)
{
	static const char *const first[] = { "7/alone-1@n", "7/common@n", "7/common@n", "7/mpi-5" };

	for (unsigned p = 0; p < 4; p++) {
		struct rama_wire_message m = process_of(first[p], p, 1, -1);

		add(to, &m);
		add_names(to, first[p], 2 * p % 6, 2);
		for (unsigned lane = 0; lane < 2; lane++)
			for (unsigned i = 0; i < 4; i++) {
				m = block_of(i < 2 ? first[p] : "7/mpi-5", p, lane, i * 700, 700);
				add(to, &m);
			}
		add_activity(to, first[p], p, -1, 1);
		add_activity(to, "7/mpi-5", p, p, 2);
		m = process_of("7/mpi-5", p, 2, p);
		m.process.nprocs = 4;
		add(to, &m);
		m.process.version = 3;
		m.process.state = p == 2 ? RAMA_WIRE_STATE_KILLED : RAMA_WIRE_STATE_ENDED;
		m.process.end = T0 + 3000000000 + p;
		m.process.made = 5700;
		m.process.dropped = p;
		add(to, &m);
		add_names(to, "7/mpi-5", 6, 1);
		add_sample(to, p);
		add(to, &(struct rama_wire_message){
				.kind = RAMA_WIRE_MSG_LOSS,
				.loss = { "agent-1", p, first[p], "the spool is full", 100, 1 } });
	}
}

static void apply(struct rama_store *s, const struct parcel *p)
{
	struct rama_arena arena = { 0 };
	struct rama_err e = { 0 };
	struct rama_wire_message m;

	if (rama_wire_message_decode(&m, p->b, p->n, &arena, &e) != 0)
		fail_msg("%s", e.text);
	put(s, &m);
	rama_arena_fini(&arena);
}

static char *run(const struct parcels *p, const size_t *order, size_t n, size_t batch)
{
	struct rama_store *s = fresh();
	char *text;

	for (size_t i = 0; i < n;) {
		begin(s);
		for (size_t k = 0; k < batch && i < n; k++, i++)
			apply(s, &p->p[order[i]]);
		commit(s);
	}
	text = content(s);
	rama_store_close(s);
	return text;
}

static void any_order(void **state)
{
	struct parcels *p = calloc(1, sizeof(*p));
	size_t order[2 * MOST], n;
	struct rng r = { 11 };
	char *want;

	(void)state;
	make(p);
	for (n = 0; n < p->n; n++)
		order[n] = n;
	want = run(p, order, n, 1);
	/* all of it went to the job that the ranks are in, and what is there is right */
	assert_null(strstr(want, "7/alone"));
	assert_null(strstr(want, "7/common"));
	for (int i = 0; i < (is_sqlite() ? 40 : 6); i++) {
		size_t m = p->n + rng_below(&r, p->n / 2);
		char *got;

		for (size_t k = 0; k < m; k++)
			order[k] = k < p->n ? k : rng_below(&r, p->n);
		for (size_t k = m - 1; k > 0; k--) {
			size_t j = rng_below(&r, k + 1), t = order[k];

			order[k] = order[j];
			order[j] = t;
		}
		got = run(p, order, m, 1 + rng_below(&r, 30));
		assert_string_equal(got, want);
		free(got);
	}
	for (size_t i = 0; i < p->n; i++)
		free(p->p[i].b);
	free(p);
	free(want);
}

/* ---- several writers at once ----------------------------------------------------------------- */

static int try_batch(struct rama_store *s, const struct parcels *p, const size_t *order, size_t n,
		     struct rama_err *e)
{
	struct rama_arena arena = { 0 };
	int rc = rama_store_begin(s, e);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct rama_wire_message m;

		rc = rama_wire_message_decode(&m, p->p[order[i]].b, p->p[order[i]].n, &arena, e);
		if (rc == 0)
			rc = rama_store_put(s, &m, NULL, e);
	}
	if (rc == 0)
		rc = rama_store_commit(s, e);
	if (rc != 0)
		rama_store_rollback(s);
	rama_arena_fini(&arena);
	return rc;
}

/* A process of its own puts all messages, in an order of its own, and begins a batch again that
 * collided with another's. */
static int writer(const struct parcels *p, unsigned seed)
{
	struct rng r = { seed };
	size_t order[MOST], batch;
	struct rama_store *s;
	struct rama_err e = { 0 };
	int tries = 0;

	for (size_t k = 0; k < p->n; k++)
		order[k] = k;
	for (size_t k = p->n - 1; k > 0; k--) {
		size_t j = rng_below(&r, k + 1), t = order[k];

		order[k] = order[j];
		order[j] = t;
	}
	if (rama_store_open(&s, where(), RAMA_STORE_WRITE, &e) != 0)
		return fprintf(stderr, "%s\n", e.text);
	for (size_t i = 0; i < p->n; i += batch) {
		batch = 1 + rng_below(&r, 12);
		batch = batch < p->n - i ? batch : p->n - i;
		while (try_batch(s, p, order + i, batch, &e) != 0)
			if (!rama_store_temporary(s) || ++tries > 10000)
				return fprintf(stderr, "%s\n", e.text);
	}
	rama_store_close(s);
	return 0;
}

static void several_writers(void **state)
{
	struct parcels *p = calloc(1, sizeof(*p));
	size_t order[MOST];
	char *want, *got;

	(void)state;
	make(p);
	for (size_t n = 0; n < p->n; n++)
		order[n] = n;
	want = run(p, order, p->n, 7);
	for (unsigned round = 0; round < (is_sqlite() ? 3 : 1); round++) {
		struct rama_store *s = fresh();
		pid_t child[3];
		int status;

		rama_store_close(s);
		for (unsigned i = 0; i < LENGTH(child); i++) {
			child[i] = fork();
			if (child[i] == 0)
				_exit(writer(p, round * 10 + i + 1) == 0 ? 0 : 1);
		}
		for (unsigned i = 0; i < LENGTH(child); i++)
			assert_true(waitpid(child[i], &status, 0) == child[i] && status == 0);
		s = reopen(RAMA_STORE_WRITE);
		got = content(s);
		rama_store_close(s);
		assert_string_equal(got, want);
		free(got);
	}
	for (size_t i = 0; i < p->n; i++)
		free(p->p[i].b);
	free(p);
	free(want);
}

static void sums_are_right(void **state)
{
	struct parcels *p = calloc(1, sizeof(*p));
	struct rama_store *s = fresh();

	(void)state;
	make(p);
	begin(s);
	for (size_t i = 0; i < p->n; i++)
		apply(s, &p->p[i]);
	commit(s);
	assert_int_equal(number(s, "SELECT count(*) FROM jobs"), 1);
	assert_string_equal(text(s, "SELECT key FROM jobs"), "7/mpi-5");
	assert_string_equal(text(s, "SELECT name FROM jobs"), "solver");
	assert_string_equal(text(s, "SELECT username FROM jobs"), "ada");
	assert_string_equal(text(s, "SELECT state FROM jobs"), "incomplete");
	assert_string_equal(text(s, "SELECT source FROM jobs"), "live");
	assert_int_equal(number(s, "SELECT nprocs FROM jobs"), 4);
	assert_int_equal(number(s, "SELECT nodes FROM jobs"), 3);
	assert_int_equal(number(s, "SELECT processes FROM jobs"), 4);
	assert_int_equal(number(s, "SELECT made FROM jobs"), 4 * 5700);
	assert_int_equal(number(s, "SELECT events FROM jobs"), 4 * 5600);
	assert_int_equal(number(s, "SELECT dropped FROM jobs"), 6);
	assert_int_equal(number(s, "SELECT lost FROM jobs"), 406);
	assert_int_equal(number(s, "SELECT start_ns FROM jobs") - T0, -1000000000);
	assert_int_equal(number(s, "SELECT end_ns FROM jobs") - T0, 3000000003);
	assert_int_equal(number(s, "SELECT reads FROM jobs"), 80); /* POSIX alone */
	assert_int_equal(number(s, "SELECT bytes_written FROM jobs"), 16000);
	assert_int_equal(number(s, "SELECT files FROM jobs"), 7);
	assert_string_equal(text(s, "SELECT io_time FROM jobs"), "0.000003");
	if (!is_elsewhere())
		assert_int_equal(number(s, "SELECT count(*) FROM blocks WHERE rank = 2"), 8);
	assert_int_equal(number(s, "SELECT CAST(sum(ops) AS BIGINT) FROM rollups WHERE rank = 2"),
			 5600);
	assert_int_equal(number(s, "SELECT count(*) FROM activity WHERE rank = -1"), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM samples WHERE metric = 'cpu.user'"), 4);
	rama_store_close(s);
	for (size_t i = 0; i < p->n; i++)
		free(p->p[i].b);
	free(p);
}

UNIT_GROUP(order, test(any_order), test(several_writers), test(sums_are_right))
