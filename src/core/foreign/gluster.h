/* SPDX-License-Identifier: BSD-3-Clause */
/* gluster.h: what GlusterFS has in the memory of its processes, by version: rows of
 * table/hooks.def. Pure, and nothing that is found there is believed: memory that was not looked at
 * before is read by a function that survives what is not there. */
#ifndef RAMA_CORE_FOREIGN_GLUSTER_H
#define RAMA_CORE_FOREIGN_GLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* false: not all of these bytes are there */
typedef bool rama_core_gluster_read(void *to, uintptr_t from, size_t n);

enum {
#define GLUSTER_OP(symbol, name, kind, op, ...) RAMA_CORE_GLUSTER_##op,
#include "table/hooks.def"
	RAMA_CORE_GLUSTER_OPS
};

enum { RAMA_CORE_GLUSTER_POINTER, RAMA_CORE_GLUSTER_TEXT };
struct rama_core_gluster_layout {
	unsigned from, to; /* first number of the version */
	/* where things stand: see hooks.def */
	uint16_t table, cookie, self, ret, client, client_is;
};

/* the same in all versions */
enum {
	RAMA_CORE_GLUSTER_FRAME_STACK = 0,
	RAMA_CORE_GLUSTER_FRAME_PARENT = 8,
	RAMA_CORE_GLUSTER_STACK_CLIENT = 64,
	RAMA_CORE_GLUSTER_STACK_UNIQUE = 72,
	RAMA_CORE_GLUSTER_STACK_USER = 88,
	RAMA_CORE_GLUSTER_STACK_THREAD = 96,
	RAMA_CORE_GLUSTER_STACK_END = 100,
	RAMA_CORE_GLUSTER_NAME = 0,
	RAMA_CORE_GLUSTER_FILE_INODE = 40,
	RAMA_CORE_GLUSTER_INODE_ID = 8
};

#define RAMA_CORE_GLUSTER_VERSION 16
#define RAMA_CORE_GLUSTER_NAME_MOST 256
#define RAMA_CORE_GLUSTER_IDENTITY 512 /* bytes that are looked at */

/* "…/glusterfs/10.3/xlator/…": NULL: of no known version; version: what stands there */
const struct rama_core_gluster_layout *rama_core_gluster_layout_of(
	const char *path, char version[RAMA_CORE_GLUSTER_VERSION]);

/* where code and writable data of a library are */
struct rama_core_gluster_object {
	uintptr_t text, text_to, data, data_to;
};
/* The table of operations that an xlator_api names; 0: it is none, since it is not in the data of
 * its library or an operation is not in its code. own: functions that may stand there instead. */
uintptr_t rama_core_gluster_table(const struct rama_core_gluster_layout *is,
				  rama_core_gluster_read *read, uintptr_t api,
				  const struct rama_core_gluster_object *o,
				  const uintptr_t own[RAMA_CORE_GLUSTER_OPS]);
/* where in the table an operation stands */
size_t rama_core_gluster_at(unsigned op);

/* Is this a frame of this translator, with a stack, and frames above it of the same stack, and has
 * the translator a name? Every byte is read with care, up to those that are used later. */
bool rama_core_gluster_frame(const struct rama_core_gluster_layout *is,
			     rama_core_gluster_read *read, uintptr_t frame, uintptr_t self);

/* a short text of letters that can be printed; its length, 0: it is not */
size_t rama_core_gluster_text(const char *s, size_t most);
/* the same of memory that may not be there */
size_t rama_core_gluster_text_at(rama_core_gluster_read *read, uintptr_t at,
				 char to[RAMA_CORE_GLUSTER_IDENTITY]);

/* Ids of files are random numbers of version 4, or that of the root. */
bool rama_core_gluster_is_id(const unsigned char id[16]);

/* CTX_ID:<uuid>-GRAPH_ID:0-PID:<pid>-HOST:<host>-PC_NAME:<name>-RECON_NO:... -> host:pid:name; what
 * is another identity stays. Its length; 0: it is none, or has no room */
size_t rama_core_gluster_identity(char *to, size_t room, const char *id);

#endif
