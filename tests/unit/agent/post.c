/* SPDX-License-Identifier: BSD-3-Clause */
/* post.c: the way out of an agent, spool to store. Nothing on it decodes a message but the store's
 * own door, and that once. */
#include "unit.h"

#include <stdatomic.h>

#include "agent/post.h"
#include "messages.h"
#include "store/store.h"

#define BLOCKS 40

static char dir[64], spool[96], store[96];
static atomic_uint decoded;

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

static void tell(void *ctx, const char *line)
{
	(void)ctx, (void)line;
}

static struct rama_agent_post *open_post(const char *sink)
{
	struct rama_agent_post_options o = {
		.spool = spool, .limit = 64u << 20, .sink = sink, .uid = UINT32_MAX, .tell = tell
	};
	struct rama_agent_post *p;
	struct rama_err e = { 0 };

	if (rama_agent_post_open(&p, &o, &e) != 0)
		fail_msg("%s", e.text);
	return p;
}

static void send(struct rama_agent_post *p, struct rama_wire_message m, uint64_t events)
{
	struct rama_err e = { 0 };

	if (rama_agent_post_send(p, &m, "1000/run-17", events, &e) != 0)
		fail_msg("%s", e.text);
}

static unsigned send_all(struct rama_agent_post *p)
{
	static const struct step steps[] = { { "POSIX write pwrite", 5, 0, 10, 0, 5, false },
					     { "POSIX read pread", 5, 10, 10, 9, 5, false } };

	send(p, a_process(1, RAMA_WIRE_STATE_RUNNING, 1, 2 * BLOCKS), 0);
	send(p, a_name(5, "/a/file"), 0);
	for (unsigned i = 0; i < BLOCKS; i++)
		send(p, a_block(1, 0, 2 * i, steps, 2), 2);
	return BLOCKS + 2;
}

static void check_store(void)
{
	struct rama_store_counts c;
	struct rama_store *s;
	struct rama_err e = { 0 };

	assert_int_equal(rama_store_open(&s, store, RAMA_STORE_READ, &e), 0);
	assert_int_equal(rama_store_stats(s, &c, &e), 0);
	assert_int_equal(c.events, 2 * BLOCKS);
	assert_int_equal(c.processes, 1);
	rama_store_close(s);
}

static void make_dir(void)
{
	snprintf(dir, sizeof(dir), "/tmp/iorama-post-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(spool, sizeof(spool), "%s/spool", dir);
	snprintf(store, sizeof(store), "%s/store.db", dir);
	decoded = 0;
}

static void remove_dir(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

static void a_message_is_decoded_once(void **st)
{
	struct rama_agent_post *p;
	char sink[128];
	unsigned sent;

	(void)st;
	make_dir();
	snprintf(sink, sizeof(sink), "store:%s", store);
	p = open_post(sink);
	sent = send_all(p);
	rama_agent_post_close(p, 60000);
	check_store();
	assert_int_equal(decoded, sent);
	remove_dir();
}

/* what an agent finds in its spool is counted by heads, and decoded where it is stored */
static void a_spool_is_taken_up_by_heads(void **st)
{
	struct rama_agent_post *p;
	char sink[128];
	unsigned sent;

	(void)st;
	make_dir();
	snprintf(sink, sizeof(sink), "store:/dev/null/store.db"); /* no store can be there */
	p = open_post(sink);
	sent = send_all(p);
	assert_int_equal(rama_agent_post_waiting(p, "1000/run-17"), 2 * BLOCKS);
	rama_agent_post_close(p, 0);
	assert_int_equal(decoded, 0);

	p = open_post(sink);
	assert_int_equal(rama_agent_post_waiting(p, "1000/run-17"), 2 * BLOCKS);
	rama_agent_post_close(p, 0);
	assert_int_equal(decoded, 0);

	snprintf(sink, sizeof(sink), "store:%s", store);
	p = open_post(sink);
	rama_agent_post_close(p, 60000);
	check_store();
	assert_int_equal(decoded, sent);
	remove_dir();
}

UNIT_GROUP(post, test(a_message_is_decoded_once), test(a_spool_is_taken_up_by_heads))
