/* SPDX-License-Identifier: BSD-3-Clause */
/* collect.c: a batch of a collector: each message is decoded once, and what its check saw is what
 * is stored. */
#include "unit.h"

#include "bus/collect.h"
#include "messages.h"

#define NOBODY "54321" /* a user whom no machine knows */

static unsigned decoded;

int __real_rama_wire_message_decode(struct rama_wire_message *m, const unsigned char *bytes,
				    size_t n, struct rama_arena *a, struct rama_err *e);
int __wrap_rama_wire_message_decode(struct rama_wire_message *m, const unsigned char *bytes,
				    size_t n, struct rama_arena *a, struct rama_err *e);
int __wrap_rama_wire_message_decode(struct rama_wire_message *m, const unsigned char *bytes,
				    size_t n, struct rama_arena *a, struct rama_err *e)
{
	decoded++;
	return __real_rama_wire_message_decode(m, bytes, n, a, e);
}

static struct rama_bus_collect_users users;
static unsigned refused;

static int check(void *ctx, struct rama_bus_collected *c, struct rama_wire_message *m,
		 struct rama_err *e)
{
	(void)ctx;
	return rama_bus_collect_check(&users, c->user, m, e);
}

static void refuse(void *ctx, struct rama_bus_collected *c, const char *why)
{
	(void)ctx, (void)c;
	assert_non_null(strstr(why, "in a message on"));
	refused++;
}

static struct rama_wire_message process(unsigned k, const char *job)
{
	struct rama_wire_message m = a_process(k, RAMA_WIRE_STATE_RUNNING, 1, 0);

	m.process.job = job;
	m.process.uid = atoi(NOBODY);
	return m;
}

static int first_text(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	snprintf(ctx, 64, "%s", row->cell[0].text);
	return 0;
}

static void messages_are_decoded_once_and_stored_as_checked(void **st)
{
	static const struct step steps[] = { { "POSIX read pread", 5, 10, 10, 9, 5, false } };
	static char own[] = "iorama.iorama." NOBODY ".run-17",
		    other[] = "iorama.iorama.1000.run-17",
		    zero[] = "iorama.iorama.0" NOBODY ".run-17";
	struct rama_wire_message m[] = {
		process(1, NOBODY "/run-17"), process(2, NOBODY "/run-17"),
		a_name(5, "/a/file"),	      a_block(3, 0, 0, steps, 1),
		process(3, NOBODY "/run-17"), process(4, NOBODY "/run-18")
	};
	char *subject[] = { own, other, other, other, zero, own };
	struct rama_bus_collected c[LENGTH(m)] = { 0 };
	struct rama_wire_bytes bytes[LENGTH(m)] = { 0 };
	char path[64], user[64] = "", command[96];
	struct rama_bus_collect_store s = { .where = path, .refused = refuse, .check = check };
	struct rama_bus_collect_totals t = { 0 };
	struct rama_store_counts n;
	struct rama_err e = { 0 };

	(void)st;
	snprintf(path, sizeof(path), "/tmp/iorama-collect-XXXXXX");
	assert_non_null(mkdtemp(path));
	snprintf(command, sizeof(command), "rm -rf %s", path);
	strcat(path, "/store.db");
	for (size_t i = 0; i < LENGTH(m); i++) {
		assert_int_equal(rama_wire_message_encode(&m[i], &bytes[i], &e), 0);
		c[i] = (struct rama_bus_collected){ .bytes = bytes[i].b,
						    .len = bytes[i].n,
						    .user = subject[i] };
	}
	if (rama_bus_collect_put(&s, c, LENGTH(m), &t, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(decoded, LENGTH(m));

	/* process 2 came as somebody else's, 3 under another spelling of the number; 1 is called by
	 * the number, whatever it says */
	assert_int_equal(refused, 3);
	assert_int_equal(c[4].fate, RAMA_BUS_FATE_REFUSED);
	assert_int_equal(c[5].fate, RAMA_BUS_FATE_REFUSED); /* nor of another job */
	assert_int_equal(c[1].fate, RAMA_BUS_FATE_REFUSED);
	assert_int_equal(t.messages, 3);
	assert_int_equal(rama_store_stats(s.store, &n, &e), 0);
	assert_int_equal(n.events, 1);
	assert_int_equal(rama_store_select(s.store,
					   "SELECT username FROM jobs WHERE key = '" NOBODY
					   "/run-17'",
					   NULL, 0, first_text, user, &e),
			 0);
	assert_string_equal(user, NOBODY);
	rama_bus_collect_store_close(&s);
	for (size_t i = 0; i < LENGTH(m); i++)
		rama_wire_bytes_fini(&bytes[i]);
	assert_int_equal(system(command), 0);
}

UNIT_GROUP(collect, test(messages_are_decoded_once_and_stored_as_checked))
