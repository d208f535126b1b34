/* SPDX-License-Identifier: BSD-3-Clause */
/* message_head.h: what is known of a message without decoding it. A message is decoded once,
 * where it is stored or turned into text; on its way there all ask its head. */
#ifndef RAMA_WIRE_MESSAGE_HEAD_H
#define RAMA_WIRE_MESSAGE_HEAD_H

#include "wire/message.h"

#define RAMA_WIRE_MESSAGE_MAGIC 0x47534d49u /* "IMSG" */
#define RAMA_WIRE_MESSAGE_VERSION 2

/* The first version that had this kind: readers of then take all others as before. */
static inline unsigned char rama_wire_message_version(enum rama_wire_message_kind kind)
{
	return kind >= RAMA_WIRE_MSG_MOMENT ? RAMA_WIRE_MESSAGE_VERSION : 1;
}

enum {				 /* the bytes that every message begins with */
       RAMA_WIRE_MSG_AT_SUM = 4, /* behind the magic: of all that follows it */
       RAMA_WIRE_MSG_AT_VERSION = 8,
       RAMA_WIRE_MSG_AT_KIND = 9,
       RAMA_WIRE_MSG_AT_ZERO = 10,
       RAMA_WIRE_MSG_HEAD = 12
};

struct rama_wire_message_head {
	enum rama_wire_message_kind kind;
	uint32_t events;		      /* that it holds: 0 for all but blocks */
	struct rama_wire_segment_key segment; /* all 0: it is of no process */
	char job[RAMA_WIRE_JOB];	      /* "": of none */
	/* host of a sample; the stream that a process asks for */
	char word[RAMA_WIRE_MSG_WORD + 1];
};

/* Compares the checksum and reads as far as it must; asks for no memory. What a head says is
 * proper by itself, but the rest of the message may still be damaged: rama_wire_message_decode
 * tells. After an error all but the kind is empty. */
int rama_wire_message_peek(struct rama_wire_message_head *h, const unsigned char *bytes, size_t n,
			   struct rama_err *e);

#endif
