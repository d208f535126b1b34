/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/place.h"

#include <string.h>

#define STEM "iorama-"
#define DIGITS 16
#define SHM "/dev/shm"
#define TMP "/tmp"

/* the same directory, as far as its name tells */
static bool same(const char *a, const char *b)
{
	size_t n = strlen(a);

	while (n > 1 && a[n - 1] == '/')
		n--;
	return strlen(b) == n && memcmp(a, b, n) == 0;
}

const char *rama_seg_place_base(unsigned i, const char *tmpdir)
{
	bool other = tmpdir != NULL && tmpdir[0] == '/' && !same(tmpdir, SHM) && !same(tmpdir, TMP);

	if (i == 0)
		return SHM;
	if (i == 1 && other)
		return tmpdir;
	return i == (other ? 2u : 1u) ? TMP : NULL;
}

static char *put_hex(char *to, uint64_t v)
{
	for (unsigned i = 0; i < DIGITS; i++)
		*to++ = "0123456789abcdef"[v >> (60 - 4 * i) & 15];
	return to;
}

void rama_seg_place_name(char to[RAMA_SEG_PLACE_NAME], uint32_t uid,
			 const struct rama_seg_place_other *other)
{
	char digits[16], *p = to + strlen(STEM);
	unsigned n = 0;

	memcpy(to, STEM, strlen(STEM));
	do
		digits[n++] = (char)('0' + uid % 10);
	while ((uid /= 10) > 0);
	while (n > 0)
		*p++ = digits[--n];
	if (other != NULL) {
		*p++ = '-';
		p = put_hex(p, other->when);
		*p++ = '-';
		p = put_hex(p, other->chance);
	}
	*p = '\0';
}

static bool is_hex(const char *p)
{
	for (unsigned i = 0; i < DIGITS; i++)
		if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'f')))
			return false;
	return true;
}

bool rama_seg_place_read(const char *name, uint32_t *uid, bool *usual)
{
	const char *p = name + strlen(STEM);
	uint64_t v = 0;

	if (strncmp(name, STEM, strlen(STEM)) != 0 || *p < '0' || *p > '9' ||
	    (*p == '0' && p[1] >= '0' && p[1] <= '9'))
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		if ((v = v * 10 + (uint64_t)(*p - '0')) >= UINT32_MAX)
			return false;
	*uid = (uint32_t)v;
	*usual = *p == '\0';
	return *usual || (*p == '-' && is_hex(p + 1) && p[DIGITS + 1] == '-' &&
			  is_hex(p + DIGITS + 2) && p[2 * DIGITS + 2] == '\0');
}

#define STICKY 01000u
#define OTHERS_WRITE 022u

bool rama_seg_place_steady(uint32_t mode)
{
	return !(mode & OTHERS_WRITE) || (mode & STICKY);
}

bool rama_seg_place_own(uint32_t mode, uint32_t owner, uint32_t uid)
{
	return (mode & 0170000u) == 0040000u && owner == uid && !(mode & OTHERS_WRITE);
}

bool rama_seg_place_firm(uint64_t type)
{
	/* Btrfs, bcachefs and ZFS write to another place each time; NFS, FUSE, CIFS and Lustre have
	 * their room elsewhere */
	static const uint32_t infirm[] = { 0x9123683e, 0xca451a4e, 0x2fc12fc1, 0x00006969,
					   0x65735546, 0xff534d42, 0xfe534d42, 0x0bd00bd0 };

	for (unsigned i = 0; i < sizeof(infirm) / sizeof(infirm[0]); i++)
		if ((uint32_t)type == infirm[i])
			return false;
	return true;
}
