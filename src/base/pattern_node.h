/* SPDX-License-Identifier: BSD-3-Clause */
/* pattern_node.h: what the nodes of a compiled pattern mean, for those who make and run them. */
#ifndef RAMA_BASE_PATTERN_NODE_H
#define RAMA_BASE_PATTERN_NODE_H

enum rama_pattern_op {
	RAMA_NODE_CHAR,
	RAMA_NODE_ANY,
	RAMA_NODE_SET,
	RAMA_NODE_JUMP,	  /* to `to` */
	RAMA_NODE_SPLIT,  /* to the next node and to `to` */
	RAMA_NODE_ASSERT, /* goes on if the place is right */
	RAMA_NODE_MATCH
};

/* arg of RAMA_NODE_ASSERT */
enum rama_pattern_place {
	RAMA_AT_BEGIN,
	RAMA_AT_END,
	RAMA_AT_BORDER, /* of a word */
	RAMA_AT_NO_BORDER,
	RAMA_AT_WORD_BEGIN,
	RAMA_AT_WORD_END
};

#endif
