/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_message.c: a message, its checksum made to fit. There is one way to write each message:
 * what is accepted comes out as the same bytes. */
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "fuzz.h"
#include "wire/coding.h"
#include "wire/message.h"
#include "wire/message_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *copy = malloc(size + (size == 0));
	struct rama_arena a = { 0 };
	struct rama_wire_bytes again = { 0 };
	struct rama_wire_message m;
	struct rama_err e = { 0 };
	struct rama_wire_message_head h;
	char job[RAMA_WIRE_JOB];
	int peeked;

	CHECK(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	if (size >= RAMA_WIRE_MSG_HEAD)
		rama_wire_store_le(copy + RAMA_WIRE_MSG_AT_SUM,
				   libdeflate_crc32(0, copy + RAMA_WIRE_MSG_AT_VERSION,
						    size - RAMA_WIRE_MSG_AT_VERSION),
				   4);
	peeked = rama_wire_message_peek(&h, copy, size, &e);
	if (rama_wire_message_decode(&m, copy, size, &a, &e) == 0) {
		CHECK(rama_wire_message_encode(&m, &again, &e) == 0);
		CHECK(again.n == size && memcmp(again.b, copy, size) == 0);
		CHECK(rama_wire_message_job(&m, job) == 0 || m.kind == RAMA_WIRE_MSG_BLOCK);
		CHECK(m.kind == RAMA_WIRE_MSG_BLOCK || rama_wire_message_events(&m) == 0);
		/* its head says the same without decoding it */
		CHECK(peeked == 0 && h.kind == m.kind && strcmp(h.job, job) == 0);
		CHECK(h.events == rama_wire_message_events(&m));
	} else {
		CHECK(e.text[0] != '\0');
	}
	rama_wire_bytes_fini(&again);
	rama_arena_fini(&a);
	free(copy);
	return 0;
}
