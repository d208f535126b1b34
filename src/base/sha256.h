/* SPDX-License-Identifier: BSD-3-Clause */
/* sha256.h: SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104), for signatures of small texts. */
#ifndef RAMA_BASE_SHA256_H
#define RAMA_BASE_SHA256_H

#include <stddef.h>

#define RAMA_SHA256 32 /* bytes */

void rama_sha256(const void *p, size_t n, unsigned char to[RAMA_SHA256]);
void rama_sha256_hmac(const void *key, size_t key_len, const void *p, size_t n,
		      unsigned char to[RAMA_SHA256]);
/* as 64 hexadecimal digits and NUL */
void rama_sha256_text(const unsigned char digest[RAMA_SHA256], char to[2 * RAMA_SHA256 + 1]);

#endif
