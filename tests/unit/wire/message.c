/* SPDX-License-Identifier: BSD-3-Clause */
/* message.c: messages come out as they went in; whatever is not one is refused. */
#include "unit.h"

#include <libdeflate.h>

#include "wire/coding.h"
#include "wire/message.h"
#include "wire/message_head.h"

static struct rama_wire_bytes buf, again;

static void encode(const struct rama_wire_message *m, struct rama_wire_bytes *to)
{
	struct rama_err e = { 0 };

	to->n = 0;
	if (rama_wire_message_encode(m, to, &e) < 0)
		fail_msg("%s", e.text);
}

/* what was decoded, encoded again, is the same bytes */
static void there_and_back(const struct rama_wire_message *m)
{
	struct rama_arena a = { 0 };
	struct rama_wire_message got;
	struct rama_err e = { 0 };
	char job[RAMA_WIRE_JOB];

	encode(m, &buf);
	if (rama_wire_message_decode(&got, buf.b, buf.n, &a, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(got.kind, m->kind);
	encode(&got, &again);
	assert_int_equal(again.n, buf.n);
	assert_memory_equal(again.b, buf.b, buf.n);
	if (m->kind != RAMA_WIRE_MSG_BLOCK) {
		assert_int_equal(rama_wire_message_job(&got, job), 0);
		assert_string_equal(job, m->kind == RAMA_WIRE_MSG_SAMPLE ||
							 m->kind == RAMA_WIRE_MSG_FOCUS
						 ? ""
						 : "1000/run-17");
		assert_int_equal(rama_wire_message_events(&got), 0);
	}
	rama_arena_fini(&a);
}

#define LONG_PATH 1213
static char path[LONG_PATH + 1];
static struct rama_wire_msg_name names[] = {
	{ 1, "/a", 2 },
	{ UINT64_MAX, "", 0 },
	{ 0, "quote \" newline \n back\\slash \xc3\xa4 \xff\xfe", 0 },
	{ 7, path, LONG_PATH },
};
static struct rama_wire_msg_gain gains[2] = { { "POSIX", 1, 2, 3, 4, 5, 6, 7, 8 },
					      { "fifteen-letters", INT64_MAX, INT64_MIN, -1, 0, 1,
						2, 3, 4 } };
static struct rama_wire_msg_figure figures[3] = { { "cpu.user", 0.25 },
						  { "disk.sda.read_bytes", -1e308 },
						  { "load", 0 } };

static struct rama_wire_msg_focus_group groups[] = {
	{ .job = "1000/run-17",
	  .processes = 8,
	  .left_out = UINT64_MAX,
	  .slow = { 1ull << 63, 9000, 4711, 3 },
	  .chosen = { 7, 1, 4712, -1 },
	  .host = "" },
	{ .job = "servers",
	  .slow = { .rank = -1 },
	  .chosen = { .rank = -1 },
	  .decides = true,
	  .at = { 5, 6, 7, 8 },
	  .host = "node02",
	  .all = 11,
	  .all_left = 500,
	  .switches = 2 },
};

static struct rama_wire_msg_call calls[] = {
	{ "flock", RAMA_WIRE_CLASS_META, 4711, 5000000000, "/a\nb" },
	{ "read", RAMA_WIRE_CLASS_READ, UINT64_MAX, -1, "" },
};
static struct rama_wire_msg_at ats[] = {
	{ .rank = -1, .gain = { "", 1, 2, 3, 4, 5, 6, 7, 8 }, .share = 1000000 },
	{ .segment = { "0123456789abcdef" },
	  .rank = 3,
	  .pid = 4711,
	  .threads = 2,
	  .files = 1213,
	  .wait = RAMA_WIRE_CLASS_META,
	  .longest = INT64_MAX,
	  .gain = { "", INT64_MAX, INT64_MIN, -1, 0, 1, 2, 3, 4 },
	  .calls = 9,
	  .n = LENGTH(calls),
	  .call = calls },
};
static struct rama_wire_msg_moved moved[] = {
	{ UINT64_MAX, 2, path, 77, { "", 1, 2, 3, 4, 5, 6, 7, 8 }, { "", 8, 7, 6, 5, 4, 3, 2, 1 } },
	{ .name = "" },
};

static struct rama_wire_message message(enum rama_wire_message_kind kind)
{
	static const unsigned char log[] = { 0, 1, 2, 3, 0xff };
	struct rama_wire_message m = { .kind = kind };

	memset(path, 'p', LONG_PATH);
	names[2].len = (uint32_t)strlen(names[2].path);
	switch (kind) {
	case RAMA_WIRE_MSG_PROCESS:
		m.process = (struct rama_wire_msg_process){ .segment = { "0123456789abcdef" },
							    .version = 3,
							    .job = "1000/run-17",
							    .user = "anna",
							    .host = "node01",
							    .exe = "/bin/\"x\"",
							    .command = "x\n-y",
							    .tag = "",
							    .uid = 1000,
							    .jobid = -5,
							    .pid = INT64_MAX,
							    .rank = -1,
							    .nprocs = 0,
							    .start = INT64_MIN,
							    .end = INT64_MAX,
							    .seen_at = 1,
							    .state = RAMA_WIRE_STATE_KILLED,
							    .made = UINT64_MAX,
							    .dropped = 1,
							    .missed = 2,
							    .lanes = UINT32_MAX };
		break;
	case RAMA_WIRE_MSG_NAMES:
		m.names = (struct rama_wire_msg_names){ "1000/run-17", LENGTH(names), names };
		break;
	case RAMA_WIRE_MSG_BLOCK:
		m.block.bytes = log;
		m.block.len = sizeof(log);
		break;
	case RAMA_WIRE_MSG_ACTIVITY:
		m.activity = (struct rama_wire_msg_activity){ { "fedcba9876543210" },
							      "1000/run-17",
							      12,
							      1700000000000000000,
							      1000000000,
							      2,
							      gains };
		break;
	case RAMA_WIRE_MSG_COUNTERS:
		m.counters = (struct rama_wire_msg_counters){ { "fedcba9876543210" },
							      UINT64_MAX,
							      "1000/run-17",
							      -1,
							      1700000000000000000,
							      INT64_MIN,
							      2,
							      gains };
		break;
	case RAMA_WIRE_MSG_SAMPLE:
		m.sample =
			(struct rama_wire_msg_sample){ "node01", 1700000000000000000, 3, figures };
		break;
	case RAMA_WIRE_MSG_LOG:
		m.log = (struct rama_wire_msg_log){ "1000/run-17", "x.darshan", log, sizeof(log) };
		break;
	case RAMA_WIRE_MSG_FOCUS:
		m.focus = (struct rama_wire_msg_focus){ "node01-7", "node01", LENGTH(groups),
							groups };
		break;
	case RAMA_WIRE_MSG_MOMENT:
		m.moment = (struct rama_wire_msg_moment){ .host = "node01",
							  .job = "1000/run-17",
							  .t = 1700000000000000000,
							  .width = 1000000000,
							  .processes = 64,
							  .n = LENGTH(ats),
							  .n_files = LENGTH(moved),
							  .at = ats,
							  .file = moved };
		break;
	default:
		m.loss = (struct rama_wire_msg_loss){ "node01-7",	   9,	"1000/run-17",
						      "the spool is full", 100, 3 };
	}
	return m;
}

static void all_kinds(void **st)
{
	(void)st;
	for (int kind = RAMA_WIRE_MSG_PROCESS; kind < RAMA_WIRE_MSG_KINDS; kind++) {
		struct rama_wire_message m = message(kind);

		there_and_back(&m);
		assert_string_not_equal(rama_wire_message_name(kind), "?");
	}
	assert_string_equal(rama_wire_message_name(0), "?");
	assert_string_equal(rama_wire_message_name(RAMA_WIRE_MSG_KINDS), "?");
}

static struct rama_wire_segment_key segment_of(const struct rama_wire_message *m)
{
	const struct rama_wire_segment_key none = { { 0 } };

	return m->kind == RAMA_WIRE_MSG_PROCESS	   ? m->process.segment
	       : m->kind == RAMA_WIRE_MSG_ACTIVITY ? m->activity.segment
	       : m->kind == RAMA_WIRE_MSG_COUNTERS ? m->counters.segment
						   : none;
}

/* what is known of a message without decoding it is what decoding it says */
static void head_agrees(const struct rama_wire_message_head *h, const struct rama_wire_message *m)
{
	struct rama_wire_segment_key segment = segment_of(m);
	char job[RAMA_WIRE_JOB];

	assert_int_equal(h->kind, m->kind);
	if (rama_wire_message_job(m, job) != 0)
		job[0] = '\0';
	assert_string_equal(h->job, job);
	assert_int_equal(h->events, rama_wire_message_events(m));
	if (m->kind != RAMA_WIRE_MSG_BLOCK)
		assert_memory_equal(&h->segment, &segment, sizeof(segment));
	assert_string_equal(h->word, m->kind == RAMA_WIRE_MSG_PROCESS  ? m->process.tag
				     : m->kind == RAMA_WIRE_MSG_SAMPLE ? m->sample.host
								       : "");
}

static void heads_of_all_kinds(void **st)
{
	struct rama_wire_message_head h;
	struct rama_err e = { 0 };

	(void)st;
	for (int kind = RAMA_WIRE_MSG_PROCESS; kind < RAMA_WIRE_MSG_KINDS; kind++) {
		struct rama_wire_message m = message(kind);

		if (kind == RAMA_WIRE_MSG_PROCESS)
			m.process.tag = "a-stream";
		encode(&m, &buf);
		assert_int_equal(rama_wire_message_peek(&h, buf.b, buf.n, &e), 0);
		head_agrees(&h, &m);
		buf.b[buf.n - 1] ^= 1; /* far behind what it reads: the checksum tells */
		assert_int_equal(rama_wire_message_peek(&h, buf.b, buf.n, &e), RAMA_ECORRUPT);
		assert_string_equal(h.job, "");
	}
}

static void heads_without_a_job(void **st)
{
	struct rama_wire_message log = message(RAMA_WIRE_MSG_LOG),
				 loss = message(RAMA_WIRE_MSG_LOSS);
	struct rama_wire_message_head h;
	struct rama_err e = { 0 };

	(void)st;
	log.log.job = loss.loss.job = "";
	encode(&log, &buf);
	assert_int_equal(rama_wire_message_peek(&h, buf.b, buf.n, &e), 0);
	head_agrees(&h, &log);
	encode(&loss, &buf);
	assert_int_equal(rama_wire_message_peek(&h, buf.b, buf.n, &e), 0);
	head_agrees(&h, &loss);
}

static void head_of_a_block(void **st)
{
	static struct rama_wire_block b;
	static unsigned char packed[4096];
	struct rama_wire_block_packer packer = { 0 };
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_BLOCK };
	struct rama_wire_message_head h;
	struct rama_err e = { 0 };

	(void)st;
	memcpy(b.job, "1000/run-17", 12);
	memcpy(b.segment.b, "0123456789abcdef", 16);
	b.n = 3;
	b.n_whats = 1;
	b.what[0] = (struct rama_wire_what){ "POSIX", "read", "pread" };
	m.block.bytes = packed;
	m.block.len = (size_t)rama_wire_block_pack(&packer, &b, packed, sizeof(packed), &e);
	assert_string_equal(e.text, "");
	encode(&m, &buf);
	assert_int_equal(rama_wire_message_peek(&h, buf.b, buf.n, &e), 0);
	head_agrees(&h, &m);
	assert_int_equal(h.events, 3);
	assert_memory_equal(&h.segment, &b.segment, sizeof(h.segment));
	rama_wire_block_packer_fini(&packer);
}

/* the same bytes could come from fields that were mixed up twice: look at them */
static void fields_keep_their_places(void **st)
{
	struct rama_wire_message m = message(RAMA_WIRE_MSG_PROCESS), got;
	struct rama_arena a = { 0 };

	(void)st;
	encode(&m, &buf);
	assert_int_equal(rama_wire_message_decode(&got, buf.b, buf.n, &a, NULL), 0);
	assert_memory_equal(got.process.segment.b, "0123456789abcdef", 16);
	assert_string_equal(got.process.user, "anna");
	assert_string_equal(got.process.host, "node01");
	assert_string_equal(got.process.exe, "/bin/\"x\"");
	assert_string_equal(got.process.command, "x\n-y");
	assert_string_equal(got.process.tag, "");
	assert_true(got.process.uid == 1000 && got.process.jobid == -5 &&
		    got.process.pid == INT64_MAX);
	assert_true(got.process.start == INT64_MIN && got.process.end == INT64_MAX &&
		    got.process.seen_at == 1);
	assert_true(got.process.made == UINT64_MAX && got.process.dropped == 1 &&
		    got.process.missed == 2);
	assert_true(got.process.version == 3 && got.process.rank == -1 &&
		    got.process.lanes == UINT32_MAX);
	m = message(RAMA_WIRE_MSG_NAMES);
	encode(&m, &buf);
	assert_int_equal(rama_wire_message_decode(&got, buf.b, buf.n, &a, NULL), 0);
	assert_int_equal(got.names.n, LENGTH(names));
	for (uint32_t i = 0; i < got.names.n; i++) {
		assert_true(got.names.name[i].record == names[i].record);
		assert_int_equal(got.names.name[i].len, names[i].len);
		assert_string_equal(got.names.name[i].path, names[i].path);
	}
	m = message(RAMA_WIRE_MSG_LOG);
	encode(&m, &buf);
	assert_int_equal(rama_wire_message_decode(&got, buf.b, buf.n, &a, NULL), 0);
	assert_int_equal(got.log.len, 5);
	assert_memory_equal(got.log.bytes, m.log.bytes, 5);
	rama_arena_fini(&a);
}

static void appends(void **st)
{
	struct rama_wire_message m = message(RAMA_WIRE_MSG_LOSS);
	size_t one;

	(void)st;
	encode(&m, &buf);
	one = buf.n;
	assert_int_equal(rama_wire_message_encode(&m, &buf, NULL), 0);
	assert_int_equal(buf.n, 2 * one);
	assert_memory_equal(buf.b, buf.b + one, one);
	m.loss.job = "no blanks please";
	assert_int_equal(rama_wire_message_encode(&m, &buf, NULL), RAMA_EUSAGE);
	assert_int_equal(buf.n, 2 * one);
}

static int decode_copy(const unsigned char *from, size_t n)
{
	unsigned char *copy = malloc(n + (n == 0));
	struct rama_arena a = { 0 };
	struct rama_wire_message_head h;
	struct rama_wire_message m;
	struct rama_err e = { 0 };
	int rc, peeked;

	assert_non_null(copy);
	memcpy(copy, from, n);
	peeked = rama_wire_message_peek(&h, copy, n, NULL);
	rc = rama_wire_message_decode(&m, copy, n, &a, &e);
	assert_true(rc == 0 || e.text[0] != '\0');
	if (rc == 0) {
		encode(&m, &again); /* what is accepted can be sent on */
		assert_int_equal(peeked, 0);
		head_agrees(&h, &m);
	}
	rama_arena_fini(&a);
	free(copy);
	return rc;
}

static void resign(size_t n)
{
	rama_wire_store_le(buf.b + RAMA_WIRE_MSG_AT_SUM,
			   libdeflate_crc32(0, buf.b + RAMA_WIRE_MSG_AT_VERSION,
					    n - RAMA_WIRE_MSG_AT_VERSION),
			   4);
}

static void damage_is_seen(void **st)
{
	(void)st;
	for (int kind = RAMA_WIRE_MSG_PROCESS; kind < RAMA_WIRE_MSG_KINDS; kind++) {
		struct rama_wire_message m = message(kind);

		encode(&m, &buf);
		for (size_t k = 0; k < buf.n; k++) {
			assert_true(decode_copy(buf.b, k) < 0);
			for (unsigned bit = 0; bit < 8; bit++) {
				buf.b[k] ^= (unsigned char)(1 << bit);
				assert_true(decode_copy(buf.b, buf.n) < 0);
				buf.b[k] ^= (unsigned char)(1 << bit);
			}
		}
		assert_int_equal(decode_copy(buf.b, buf.n), 0);
	}
}

static void signed_damage_is_harmless(void **st)
{
	struct rng r = { 11 };

	(void)st;
	for (unsigned k = 0; k < 30000; k++) {
		struct rama_wire_message m =
			message((enum rama_wire_message_kind)(1 + k % (RAMA_WIRE_MSG_KINDS - 1)));
		size_t n;

		encode(&m, &buf);
		n = rng_below(&r, 4) == 0
			    ? RAMA_WIRE_MSG_HEAD + rng_below(&r, buf.n - RAMA_WIRE_MSG_HEAD)
			    : buf.n;
		for (uint64_t many = 1 + rng_below(&r, 3); many > 0 && n > RAMA_WIRE_MSG_HEAD;
		     many--)
			buf.b[RAMA_WIRE_MSG_HEAD + rng_below(&r, n - RAMA_WIRE_MSG_HEAD)] =
				(unsigned char)rng_u64(&r);
		resign(n);
		decode_copy(buf.b, n);
	}
}

/* counts that would ask for more memory than the message can fill */
static void counts_are_not_believed(void **st)
{
	static const unsigned char body[] = {
		1, 'j', 0x80, 0x80, 4, 1, 0
	}; /* job "j", 65536 names, one of them there */
	struct rama_arena a = { 0 };
	struct rama_wire_message m = message(RAMA_WIRE_MSG_NAMES);

	(void)st;
	encode(&m, &buf);
	memcpy(buf.b + RAMA_WIRE_MSG_HEAD, body, sizeof(body));
	resign(RAMA_WIRE_MSG_HEAD + sizeof(body));
	assert_int_equal(rama_wire_message_decode(&m, buf.b, RAMA_WIRE_MSG_HEAD + sizeof(body), &a,
						  NULL),
			 RAMA_ECORRUPT);
	assert_true(a.total < 100);
	rama_arena_fini(&a);
}

static void refused_when_written(void **st)
{
	static char long_text[RAMA_WIRE_MSG_TEXT + 2];
	struct rama_wire_message m;

	(void)st;
	memset(long_text, 'x', RAMA_WIRE_MSG_TEXT + 1);
#define REFUSED(of, change)                                                              \
	do {                                                                             \
		m = message(of);                                                         \
		change;                                                                  \
		buf.n = 0;                                                               \
		assert_int_equal(rama_wire_message_encode(&m, &buf, NULL), RAMA_EUSAGE); \
		assert_int_equal(buf.n, 0);                                              \
	} while (0)
	REFUSED(RAMA_WIRE_MSG_PROCESS, m.process.state = 0);
	REFUSED(RAMA_WIRE_MSG_PROCESS, m.process.state = RAMA_WIRE_STATE_KILLED + 1);
	REFUSED(RAMA_WIRE_MSG_PROCESS, m.process.rank = -2);
	REFUSED(RAMA_WIRE_MSG_PROCESS, m.process.user = NULL);
	REFUSED(RAMA_WIRE_MSG_PROCESS, m.process.job = "");
	REFUSED(RAMA_WIRE_MSG_PROCESS, m.process.command = long_text);
	REFUSED(RAMA_WIRE_MSG_PROCESS, m.process.host = long_text);
	REFUSED(RAMA_WIRE_MSG_SAMPLE, m.sample.host = long_text);
	REFUSED(RAMA_WIRE_MSG_LOSS, m.loss.agent = long_text);
	REFUSED(RAMA_WIRE_MSG_NAMES, m.names.n = RAMA_WIRE_MSG_NAMES_MOST + 1);
	REFUSED(RAMA_WIRE_MSG_NAMES, m.names.job = "a b");
	REFUSED(RAMA_WIRE_MSG_ACTIVITY, m.activity.n = RAMA_WIRE_MSG_GAINS + 1);
	REFUSED(RAMA_WIRE_MSG_ACTIVITY, m.activity.width = -1);
	REFUSED(RAMA_WIRE_MSG_COUNTERS, m.counters.n = RAMA_WIRE_MSG_GAINS + 1);
	REFUSED(RAMA_WIRE_MSG_COUNTERS, m.counters.rank = -2);
	REFUSED(RAMA_WIRE_MSG_COUNTERS, m.counters.job = "");
	REFUSED(RAMA_WIRE_MSG_LOG, m.log.len = (size_t)RAMA_WIRE_MESSAGE_MOST + 1);
	REFUSED(RAMA_WIRE_MSG_FOCUS, m.focus.n = RAMA_WIRE_MSG_GROUPS + 1);
	REFUSED(RAMA_WIRE_MSG_FOCUS, m.focus.agent = long_text);
	REFUSED(RAMA_WIRE_MSG_FOCUS, groups[0].chosen.rank = -2);
	groups[0].chosen.rank = -1;
	REFUSED(RAMA_WIRE_MSG_MOMENT, m.moment.n = RAMA_WIRE_MSG_ATS + 1);
	REFUSED(RAMA_WIRE_MSG_MOMENT, m.moment.n_files = RAMA_WIRE_MSG_MOVED + 1);
	REFUSED(RAMA_WIRE_MSG_MOMENT, m.moment.width = -1);
	REFUSED(RAMA_WIRE_MSG_MOMENT, m.moment.host = long_text);
	REFUSED(RAMA_WIRE_MSG_MOMENT, m.moment.at[0].share = 1000001);
	ats[0].share = 1000000;
	REFUSED(RAMA_WIRE_MSG_MOMENT, m.moment.at[0].wait = RAMA_WIRE_CLASSES);
	ats[0].wait = 0;
	REFUSED(RAMA_WIRE_MSG_MOMENT, m.moment.at[1].n = RAMA_WIRE_MSG_CALLS + 1);
	ats[1].n = LENGTH(calls);
	REFUSED(RAMA_WIRE_MSG_MOMENT, m.moment.at[1].call[0].class = 0);
	calls[0].class = RAMA_WIRE_CLASS_META;
	REFUSED(0, m.kind = 0);
	REFUSED(0, m.kind = RAMA_WIRE_MSG_KINDS);
#undef REFUSED
	long_text[RAMA_WIRE_MSG_TEXT] = '\0';
	m = message(RAMA_WIRE_MSG_PROCESS);
	m.process.command = long_text;
	there_and_back(&m);
	m = message(RAMA_WIRE_MSG_LOG);
	m.log.len = RAMA_WIRE_MESSAGE_MOST;
	m.log.bytes = calloc(1, RAMA_WIRE_MESSAGE_MOST);
	assert_non_null(m.log.bytes);
	buf.n = 0;
	assert_int_equal(rama_wire_message_encode(&m, &buf, NULL), RAMA_ELIMIT);
	assert_int_equal(buf.n, 0);
	free((void *)(uintptr_t)m.log.bytes);
}

static void other_versions_are_told(void **st)
{
	struct rama_wire_message m = message(RAMA_WIRE_MSG_LOSS);
	struct rama_arena a = { 0 };
	struct rama_err e = { 0 };

	(void)st;
	encode(&m, &buf);
	buf.b[RAMA_WIRE_MSG_AT_VERSION] = 9;
	assert_int_equal(rama_wire_message_decode(&m, buf.b, buf.n, &a, &e), RAMA_EVERSION);
	assert_non_null(strstr(e.text, "version 9"));
	/* each kind has one version, so that there is one way to write it */
	m = message(RAMA_WIRE_MSG_LOSS);
	encode(&m, &buf);
	buf.b[RAMA_WIRE_MSG_AT_VERSION] = 2;
	assert_int_equal(rama_wire_message_decode(&m, buf.b, buf.n, &a, &e), RAMA_ECORRUPT);
	m = message(RAMA_WIRE_MSG_MOMENT);
	encode(&m, &buf);
	assert_int_equal(buf.b[RAMA_WIRE_MSG_AT_VERSION], 2);
	buf.b[RAMA_WIRE_MSG_AT_VERSION] = 1;
	assert_int_equal(rama_wire_message_decode(&m, buf.b, buf.n, &a, &e), RAMA_ECORRUPT);
	rama_arena_fini(&a);
	rama_wire_bytes_fini(&buf);
	rama_wire_bytes_fini(&again);
	assert_null(buf.b);
}

UNIT_GROUP(message, test(all_kinds), test(heads_of_all_kinds), test(heads_without_a_job),
	   test(head_of_a_block), test(fields_keep_their_places), test(appends),
	   test(damage_is_seen), test(signed_damage_is_harmless), test(counts_are_not_believed),
	   test(refused_when_written), test(other_versions_are_told))
