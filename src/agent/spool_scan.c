/* SPDX-License-Identifier: BSD-3-Clause */
/* spool_scan.c: the bytes of a spool's files. */
#include <libdeflate.h>
#include <stdlib.h>

#include "agent/spool.h"

#define HEAD sizeof(struct rama_agent_spool_head)
#define RECORD sizeof(struct rama_agent_spool_record)

static uint32_t head_sum(const struct rama_agent_spool_record *r)
{
	return libdeflate_crc32(0, r, offsetof(struct rama_agent_spool_record, head_sum));
}

void rama_agent_spool_record_make(struct rama_agent_spool_record *r, const unsigned char *bytes,
				  size_t n, uint64_t number)
{
	*r = (struct rama_agent_spool_record){ .magic = RAMA_AGENT_SPOOL_RECORD,
					       .len = (uint32_t)n,
					       .number = number,
					       .sum = libdeflate_crc32(0, bytes, n) };
	r->head_sum = head_sum(r);
}

bool rama_agent_spool_record_good(const struct rama_agent_spool_record *r, uint64_t left)
{
	return r->magic == RAMA_AGENT_SPOOL_RECORD && r->head_sum == head_sum(r) &&
	       r->len <= RAMA_WIRE_MESSAGE_MOST && rama_agent_spool_padded(r->len) <= left;
}

static int body_good(struct rama_source *src, uint64_t at, const struct rama_agent_spool_record *r,
		     unsigned char *buf, size_t room, struct rama_err *e)
{
	uint32_t sum = 0;

	for (uint32_t done = 0; done < r->len;) {
		size_t n = r->len - done < room ? r->len - done : room;
		int rc = src->read(src->ctx, at + done, buf, n, e);

		if (rc != 0)
			return rc;
		sum = libdeflate_crc32(sum, buf, n);
		done += (uint32_t)n;
	}
	return sum == r->sum;
}

int rama_agent_spool_scan(struct rama_source *src, struct rama_agent_spool_scan *scan,
			  struct rama_err *e)
{
	enum { ROOM = 1 << 18 };
	struct rama_agent_spool_head head;
	unsigned char *buf;
	int rc;

	*scan = (struct rama_agent_spool_scan){ 0 };
	if (src->size < HEAD)
		return rama_err_set(e, RAMA_ECORRUPT, "ends within its head");
	rc = src->read(src->ctx, 0, &head, HEAD, e);
	if (rc != 0)
		return rc;
	if (head.magic != RAMA_AGENT_SPOOL_MAGIC || head.first == 0 || head.first > UINT64_MAX / 2)
		return rama_err_set(e, RAMA_ECORRUPT, "is no file of a spool");
	buf = malloc(ROOM);
	if (buf == NULL)
		return rama_err_no_memory(e);
	*scan = (struct rama_agent_spool_scan){ .first = head.first,
						.next = head.first,
						.end = HEAD };
	while (rc >= 0 && src->size - scan->end >= RECORD) {
		struct rama_agent_spool_record r;

		rc = src->read(src->ctx, scan->end, &r, RECORD, e);
		if (rc == 0)
			rc = rama_agent_spool_record_good(&r, src->size - scan->end - RECORD) &&
					     r.number == scan->next
				     ? body_good(src, scan->end + RECORD, &r, buf, ROOM, e)
				     : 0;
		if (rc <= 0)
			break;
		scan->end += RECORD + rama_agent_spool_padded(r.len);
		scan->next++;
	}
	scan->damaged = scan->end < src->size;
	free(buf);
	return rc < 0 ? rc : 0;
}
