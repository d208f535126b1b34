/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_encode.c: the first byte chooses a dialect; then the saved state of an encoder (two
 * bytes: its length; its checksum is made to fit), then messages, each with its length before it
 * in two bytes. Whatever is in them, the text is lines of JSON, or rows, and what an encoder
 * remembers can be saved and loaded again. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <libdeflate.h>

#include "fuzz.h"
#include "bus/encode/encode.h"
#include "wire/coding.h"
#include "wire/columns.h"
#include "wire/message_head.h"

static void check_lines(const struct rama_out *out)
{
	for (size_t at = 0; at < out->used;) {
		const char *nl = memchr(out->buf + at, '\n', out->used - at);
		json_t *line;

		CHECK(nl != NULL);
		/* ids of records may be larger than this reader takes as a number */
		line = json_loadb(out->buf + at, (size_t)(nl - out->buf) - at,
				  JSON_DECODE_INT_AS_REAL, NULL);
		CHECK(json_is_object(line));
		json_decref(line);
		at = (size_t)(nl - out->buf) + 1;
	}
}

static void check_saved(const struct rama_bus_encoder *en, const struct rama_bus_encoder_options *o)
{
	struct rama_wire_bytes one = { 0 }, two = { 0 };
	struct rama_bus_encoder *again;
	struct rama_err e = { 0 };

	CHECK(rama_bus_encoder_create(&again, o, &e) == 0);
	CHECK(rama_bus_encoder_save(en, &one, &e) == 0);
	CHECK(rama_bus_encoder_load(again, one.b, one.n, &e) == 0);
	CHECK(rama_bus_encoder_save(again, &two, &e) == 0);
	CHECK(one.n == two.n);
	rama_bus_encoder_destroy(again);
	rama_wire_bytes_fini(&one);
	rama_wire_bytes_fini(&two);
}

static void load(struct rama_bus_encoder *en, struct fuzz_input in)
{
	unsigned char *copy = malloc(in.n + 1);

	CHECK(copy != NULL);
	memcpy(copy, in.p, in.n);
	if (in.n >= 12)
		rama_wire_store_le(copy + 4, libdeflate_crc32(0, copy + 8, in.n - 8), 4);
	rama_bus_encoder_load(en, copy, in.n, NULL);
	free(copy);
}

static void put(struct rama_bus_encoder *en, struct fuzz_input in, struct rama_out *out)
{
	unsigned char *copy = malloc(in.n + 1);
	struct rama_arena a = { 0 };
	struct rama_wire_message m;
	size_t before = out->used;

	CHECK(copy != NULL);
	memcpy(copy, in.p, in.n);
	if (in.n >= RAMA_WIRE_MSG_HEAD)
		rama_wire_store_le(copy + RAMA_WIRE_MSG_AT_SUM,
				   libdeflate_crc32(0, copy + RAMA_WIRE_MSG_AT_VERSION,
						    in.n - RAMA_WIRE_MSG_AT_VERSION),
				   4);
	if (rama_wire_message_decode(&m, copy, in.n, &a, NULL) == 0 &&
	    rama_bus_encoder_put(en, &m, out, NULL) < 0)
		CHECK(out->used == before);
	rama_arena_fini(&a);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t choice = fuzz_take_byte(&in);
	struct rama_bus_encoder_options o = { .dialect = choice % 3,
					      .csv = (choice & 8) != 0,
					      .all = (choice & 16) != 0,
					      .segs = choice >> 5 };
	struct rama_bus_encoder *en;
	struct rama_out out;

	CHECK(rama_bus_encoder_create(&en, &o, NULL) == 0);
	rama_out_init(&out, NULL, NULL);
	load(en, fuzz_take(&in, fuzz_take_u16(&in)));
	while (in.n > 0)
		put(en, fuzz_take(&in, fuzz_take_u16(&in)), &out);
	if (!o.csv)
		check_lines(&out);
	check_saved(en, &o);
	rama_out_fini(&out);
	rama_bus_encoder_destroy(en);
	return 0;
}
