/* SPDX-License-Identifier: BSD-3-Clause */
/* message_head.h: the bytes that every message begins with. */
#ifndef RAMA_WIRE_MESSAGE_HEAD_H
#define RAMA_WIRE_MESSAGE_HEAD_H

#define RAMA_WIRE_MESSAGE_MAGIC 0x47534d49u /* "IMSG" */
#define RAMA_WIRE_MESSAGE_VERSION 1

enum {
	RAMA_WIRE_MSG_AT_SUM = 4, /* behind the magic: of all that follows it */
	RAMA_WIRE_MSG_AT_VERSION = 8,
	RAMA_WIRE_MSG_AT_KIND = 9,
	RAMA_WIRE_MSG_AT_ZERO = 10,
	RAMA_WIRE_MSG_HEAD = 12
};

#endif
