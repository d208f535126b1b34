/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_collect.c: a subject, a newline, and a message whose checksum is made to fit. What a
 * collector takes is of the user in the subject. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "fuzz.h"
#include "bus/collect.h"
#include "wire/coding.h"
#include "wire/message_head.h"

/* It was taken: all that it says of users is what stands in the subject. */
static void check_taken(const struct rama_wire_message *m, const char *subject)
{
	struct rama_bus_collect_subject s;
	char job[RAMA_WIRE_JOB], begin[32];

	CHECK(rama_bus_collect_subject(&s, subject));
	CHECK((m->kind == RAMA_WIRE_MSG_SAMPLE) == (s.n == 3));
	if (m->kind == RAMA_WIRE_MSG_SAMPLE)
		return;
	CHECK(rama_wire_message_job(m, job) == 0);
	snprintf(begin, sizeof(begin), "%" PRIu64 "/", s.uid);
	CHECK(job[0] == '\0' || strncmp(job, begin, strlen(begin)) == 0);
	CHECK(job[0] != '\0' || m->kind == RAMA_WIRE_MSG_LOSS || m->kind == RAMA_WIRE_MSG_LOG);
	CHECK(m->kind != RAMA_WIRE_MSG_PROCESS ||
	      (m->process.uid == (int64_t)s.uid && m->process.user[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rama_bus_collect_users users;
	const uint8_t *line = size > 0 ? memchr(data, '\n', size) : NULL;
	size_t head = line != NULL ? (size_t)(line - data) : 0, n;
	struct rama_arena a = { 0 };
	struct rama_wire_message m;
	struct rama_err e = { 0 };
	unsigned char *copy;
	char *subject;

	if (line == NULL)
		return 0;
	n = size - head - 1;
	subject = calloc(1, head + 1);
	copy = malloc(n + 1);
	CHECK(subject != NULL && copy != NULL);
	memcpy(subject, data, head);
	memcpy(copy, line + 1, n);
	if (n >= RAMA_WIRE_MSG_HEAD)
		rama_wire_store_le(copy + RAMA_WIRE_MSG_AT_SUM,
				   libdeflate_crc32(0, copy + RAMA_WIRE_MSG_AT_VERSION,
						    n - RAMA_WIRE_MSG_AT_VERSION),
				   4);
	if (rama_wire_message_decode(&m, copy, n, &a, &e) == 0) {
		if (rama_bus_collect_check(&users, subject, &m, &e) == 0)
			check_taken(&m, subject);
		else
			CHECK(e.code == RAMA_ECORRUPT && e.text[0] != '\0');
	}
	rama_arena_fini(&a);
	free(copy);
	free(subject);
	return 0;
}
