/* SPDX-License-Identifier: BSD-3-Clause */
/* recordid.h: the id of a record is a hash of its name, the same in every process. */
#ifndef RAMA_CORE_RECORDID_H
#define RAMA_CORE_RECORDID_H

#include <stddef.h>
#include <stdint.h>

/* Bob Jenkins' 64-bit hash of 1997 (public domain), level 0, on any byte order */
uint64_t rama_core_record_id(const void *name, size_t len);
/* the same hash with another start */
uint64_t rama_core_record_id_level(const void *name, size_t len, uint64_t level);

#endif
