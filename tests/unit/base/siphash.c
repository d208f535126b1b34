/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/siphash.h"

/* key 00 01 .. 0f as two little-endian words */
static const struct rama_sipkey paper_key = { 0x0706050403020100u, 0x0f0e0d0c0b0a0908u };

static void hashes_are_those_of_the_paper(void **state)
{
	/* of the message 00 01 02 ... of so many bytes, as the reference program prints them */
	static const unsigned char want[][8] = {
		{ 0x31, 0x0e, 0x0e, 0xdd, 0x47, 0xdb, 0x6f, 0x72 },
		{ 0xfd, 0x67, 0xdc, 0x93, 0xc5, 0x39, 0xf8, 0x74 },
		{ 0x5a, 0x4f, 0xa9, 0xd9, 0x09, 0x80, 0x6c, 0x0d },
		{ 0x2d, 0x7e, 0xfb, 0xd7, 0x96, 0x66, 0x67, 0x85 },
		{ 0xb7, 0x87, 0x71, 0x27, 0xe0, 0x94, 0x27, 0xcf },
		{ 0x8d, 0xa6, 0x99, 0xcd, 0x64, 0x55, 0x76, 0x18 },
		{ 0xce, 0xe3, 0xfe, 0x58, 0x6e, 0x46, 0xc9, 0xcb },
		{ 0x37, 0xd1, 0x01, 0x8b, 0xf5, 0x00, 0x02, 0xab },
		{ 0x62, 0x24, 0x93, 0x9a, 0x79, 0xf5, 0xf5, 0x93 },
	};
	unsigned char message[16];

	(void)state;
	for (unsigned i = 0; i < sizeof(message); i++)
		message[i] = (unsigned char)i;
	for (size_t n = 0; n < LENGTH(want); n++) {
		uint64_t h = rama_siphash(&paper_key, message, n);

		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(h >> (8 * i) & 0xff, want[n][i]);
	}
	/* the example worked out in its appendix */
	assert_true(rama_siphash(&paper_key, message, 15) == 0xa129ca6149be45e5u);
}

static void keys_come_from_texts(void **state)
{
	struct rama_sipkey a = rama_sipkey_from("site", 4), b = rama_sipkey_from("site", 4),
			   c = rama_sipkey_from("Site", 4), d = rama_sipkey_from("", 0);

	(void)state;
	assert_memory_equal(&a, &b, sizeof(a));
	assert_true(a.k0 != a.k1);
	assert_true(a.k0 != c.k0 && a.k1 != c.k1);
	assert_true(a.k0 != d.k0 && a.k1 != d.k1);
}

UNIT_GROUP(siphash, test(hashes_are_those_of_the_paper), test(keys_come_from_texts))
