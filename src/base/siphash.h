/* SPDX-License-Identifier: BSD-3-Clause */
/* siphash.h: SipHash-2-4 of Aumasson and Bernstein: a hash that nobody can compute or invert
 * without its 128-bit key. Used where names are hidden; too slow for tables. */
#ifndef RAMA_BASE_SIPHASH_H
#define RAMA_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct rama_sipkey {
	uint64_t k0, k1;
};

uint64_t rama_siphash(const struct rama_sipkey *key, const void *data, size_t n);
/* a key from a text of any length */
struct rama_sipkey rama_sipkey_from(const void *text, size_t n);

#endif
