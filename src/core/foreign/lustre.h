/* SPDX-License-Identifier: BSD-3-Clause */
/* lustre.h: the layout of a file on Lustre, from the bytes of its extended attribute
 * "lustre.lov". */
#ifndef RAMA_CORE_FOREIGN_LUSTRE_H
#define RAMA_CORE_FOREIGN_LUSTRE_H

#include "core/kind.h"

/* Makes the record of the log: fixed part, components, OST ids, one after the other. Only
 * components that hold data are kept. Returns the words it has, or 0 if the bytes are no layout. If
 * it has more than `max` words, nothing is written. The bytes may be anything. */
size_t rama_core_lustre_decode(const void *xattr, size_t len, uint64_t id, union rama_core_word *w,
			       size_t max);

#define RAMA_CORE_LUSTRE_ROOM 510 /* words: a layout of one component may have 497 stripes */

/* Layout of one file; part of the segment. */
struct rama_core_lustre_file {
	uint32_t seq, name;
	uint8_t stuck;
	uint8_t pad[7];
	union rama_core_word w[RAMA_CORE_LUSTRE_ROOM]; /* the record; 0 where it ends */
};
_Static_assert(sizeof(struct rama_core_lustre_file) == 4096, "a layout has a page");

void rama_core_lustre_init(struct rama_core_lustre_file *f, uint64_t id);
/* false: no layout, or too long; what was known before stays then */
bool rama_core_lustre_apply(struct rama_core_lustre_file *f, const void *xattr, size_t len);
/* Returns the words of the record. Whatever `f` holds, its numbers of components and stripes agree
 * with what follows them. */
size_t rama_core_lustre_finish(const struct rama_core_lustre_file *f,
			       union rama_core_word w[RAMA_CORE_LUSTRE_ROOM]);

#endif
