/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages.h"

#include "unit.h"

static struct rama_wire_block block;
static struct rama_wire_block_packer packer;
static unsigned char bytes[1 << 20];

struct rama_wire_message a_process(unsigned k, uint32_t state, uint64_t version, uint64_t made)
{
	static char host[16];
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_PROCESS };

	snprintf(host, sizeof(host), "node%02u", k % 100);
	m.process = (struct rama_wire_msg_process){ .version = version,
						    .job = "1000/run-17",
						    .user = "anna",
						    .host = host,
						    .exe = "/bin/\"app\"",
						    .command = "app -x",
						    .tag = "",
						    .uid = 1000,
						    .jobid = 77,
						    .pid = 4000 + (int64_t)k,
						    .rank = (int64_t)k,
						    .nprocs = 4,
						    .start = START,
						    .state = state,
						    .made = made,
						    .lanes = 1,
						    .seen_at = START + 5 };
	memset(m.process.segment.b, 0, 16);
	memcpy(m.process.segment.b, &k, sizeof(k));
	return m;
}

struct rama_wire_message a_name(uint64_t record, const char *path)
{
	static struct rama_wire_msg_name name;
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_NAMES };

	name = (struct rama_wire_msg_name){ record, path, (uint32_t)strlen(path) };
	m.names = (struct rama_wire_msg_names){ "1000/run-17", 1, &name };
	return m;
}

struct rama_wire_message packed(struct rama_wire_block *b)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_BLOCK };
	struct rama_err e = { 0 };
	int64_t n = rama_wire_block_pack(&packer, b, bytes, sizeof(bytes), &e);

	assert_string_equal(e.text, "");
	m.block.bytes = bytes;
	m.block.len = (size_t)n;
	return m;
}

static uint16_t find_what(const char *text)
{
	struct rama_wire_what w;

	memset(&w, 0, sizeof(w));
	assert_int_equal(sscanf(text, "%15s %15s %47s", w.layer, w.op, w.fn), 3);
	for (uint32_t i = 0; i < block.n_whats; i++)
		if (memcmp(&block.what[i], &w, sizeof(w)) == 0)
			return (uint16_t)i;
	block.what[block.n_whats] = w;
	return (uint16_t)block.n_whats++;
}

struct rama_wire_message a_block(unsigned k, uint32_t lane, uint64_t first, const struct step *s,
				 uint32_t n)
{
	memset(&block, 0, sizeof(block));
	memcpy(block.job, "1000/run-17", 12);
	memcpy(block.segment.b, &k, sizeof(k));
	block.rank = (int64_t)k;
	block.lane = lane;
	block.tid = 4000 + lane;
	block.first = first;
	block.n = n;
	for (uint32_t i = 0; i < n; i++)
		block.event[i] = (struct rama_wire_event){ .end = START + s[i].start + s[i].dur,
							   .dur = s[i].dur,
							   .off = s[i].off,
							   .bytes = s[i].bytes,
							   .record = s[i].record,
							   .call = (uint32_t)(first + i + 1),
							   .what = find_what(s[i].what),
							   .failed = s[i].failed };
	return packed(&block);
}

void bench_begin(struct bench *b, enum rama_bus_dialect d, bool csv, bool all)
{
	struct rama_bus_encoder_options o = { .dialect = d, .csv = csv, .all = all };

	assert_int_equal(rama_bus_encoder_create(&b->en, &o, NULL), 0);
	rama_out_init(&b->out, NULL, NULL);
}

void bench_put(struct bench *b, struct rama_wire_message m)
{
	struct rama_err e = { 0 };

	if (rama_bus_encoder_put(b->en, &m, &b->out, &e) < 0)
		fail_msg("%s", e.text);
}

const char *bench_text(struct bench *b)
{
	rama_out_char(&b->out, '\0');
	b->out.used--;
	return b->out.buf;
}

void bench_end(struct bench *b)
{
	rama_bus_encoder_destroy(b->en);
	rama_out_fini(&b->out);
}
