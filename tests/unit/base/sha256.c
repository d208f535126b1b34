/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256 by the examples of FIPS 180-2, HMAC by those of RFC 4231 */
#include "unit.h"

#include "base/sha256.h"

static void is(const unsigned char d[RAMA_SHA256], const char *want)
{
	char text[2 * RAMA_SHA256 + 1];

	rama_sha256_text(d, text);
	assert_string_equal(text, want);
}

static void digests(void **state)
{
	unsigned char d[RAMA_SHA256];
	static char million[1000000];

	(void)state;
	rama_sha256("", 0, d);
	is(d, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	rama_sha256("abc", 3, d);
	is(d, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	rama_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, d);
	is(d, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(million, 'a', sizeof(million));
	rama_sha256(million, sizeof(million), d);
	is(d, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void signatures(void **state)
{
	unsigned char d[RAMA_SHA256], key[131];

	(void)state;
	memset(key, 0x0b, 20);
	rama_sha256_hmac(key, 20, "Hi There", 8, d);
	is(d, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	rama_sha256_hmac("Jefe", 4, "what do ya want for nothing?", 28, d);
	is(d, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	rama_sha256_hmac(key, sizeof(key), "Test Using Larger Than Block-Size Key - Hash Key First",
			 54, d);
	is(d, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

UNIT_GROUP(sha256, test(digests), test(signatures))
