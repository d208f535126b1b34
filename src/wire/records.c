/* SPDX-License-Identifier: BSD-3-Clause */
/* records.c: which files a packed block has events of, from its beginning alone. Who looks for one
 * file among many blocks needs to unpack those only that have it. What is damaged is told when it
 * is unpacked. */
#include "wire/block.h"

#include <string.h>
#include <zlib.h>

#include "wire/coding.h"
#include "wire/columns.h"

#define AT_FLAGS 9 /* as block.c has them */
#define AT_JOB_LEN 10
#define BODY_MOST 12288 /* bytes of the unpacked body that are looked at */
#define LITTLE_BODY 2560
#define UNKNOWN (-1)

static size_t begin_of(const unsigned char *bytes, size_t n, unsigned char *to, size_t room)
{
	z_stream z = { 0 };
	size_t have = 0;

	if (inflateInit2(&z, -15) != Z_OK)
		return 0;
	z.next_in = (unsigned char *)(uintptr_t)bytes;
	z.avail_in = (unsigned)n;
	z.next_out = to;
	z.avail_out = (unsigned)room;
	if (inflate(&z, Z_SYNC_FLUSH) >= 0)
		have = room - z.avail_out;
	inflateEnd(&z);
	return have;
}

/* tables of calls, kinds and records */
static int table_has(struct rama_wire_reader *r, uint64_t record)
{
	uint64_t n = rama_wire_get_varint(r);
	const unsigned char *p;

	for (; n > 0 && !r->bad; n--)
		for (unsigned k = 0; k < 3; k++)
			rama_wire_get_bytes(r, rama_wire_get_le(r, 1));
	n = rama_wire_get_varint(r);
	if (r->bad || n > RAMA_WIRE_BLOCK_EVENTS)
		return UNKNOWN;
	rama_wire_get_bytes(r, 2 * n);
	n = rama_wire_get_varint(r);
	if (r->bad || n > RAMA_WIRE_BLOCK_EVENTS)
		return UNKNOWN;
	p = rama_wire_get_bytes(r, 8 * n);
	if (p == NULL)
		return UNKNOWN;
	for (uint64_t i = 0; i < n; i++)
		if (rama_wire_load_le(p + 8 * i, 8) == record)
			return 1;
	return 0;
}

int rama_wire_block_has_file(const unsigned char *bytes, size_t n, uint64_t record)
{
	unsigned char body[BODY_MOST];
	struct rama_wire_reader r = { .p = body };
	size_t at, have;

	if (n < RAMA_WIRE_BLOCK_FIXED)
		return UNKNOWN;
	at = RAMA_WIRE_BLOCK_FIXED + rama_wire_load_le(bytes + AT_JOB_LEN, 2);
	if (at >= n)
		return UNKNOWN;
	if (bytes[AT_FLAGS] == 0) {
		have = n - at < sizeof(body) ? n - at : sizeof(body);
		memcpy(body, bytes + at, have);
	} else {
		have = begin_of(bytes + at, n - at, body,
				n > RAMA_WIRE_BLOCK_LITTLE ? sizeof(body) : LITTLE_BODY);
	}
	r.end = body + have;
	return have == 0 ? UNKNOWN : table_has(&r, record);
}
