/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/code/enter.h"

#include <stdbool.h>
#include <string.h>

enum { MOV_EAX = 0xb8, REX = 0x40, REX_W = 8, REX_R = 4, REX_B = 1, JUMP_FAR = 0x7fff0000 };

/* bytes of the address that begins with this one; 0: it is relative to the place, or cut */
static size_t address(const unsigned char *p, size_t n)
{
	unsigned mod, rm;
	size_t len = 1;

	if (n < 1)
		return 0;
	mod = p[0] >> 6;
	rm = p[0] & 7;
	if (mod == 3)
		return 1;
	if (mod == 0 && rm == 5)
		return 0;
	if (rm == 4) {
		if (n < 2)
			return 0;
		len++;
		if (mod == 0 && (p[1] & 7) == 5)
			len += 4;
	}
	len += mod == 1 ? 1 : mod == 2 ? 4 : 0;
	return len <= n ? len : 0;
}

/* what an instruction of the few that may be moved changes */
enum what { REGISTER, EITHER, IMMEDIATE, UNKNOWN };

static enum what kind_of(unsigned char code)
{
	switch (code) {
	case 0x33: /* xor */
	case 0x63: /* movslq */
	case 0x8b: /* mov */
	case 0x8d: /* lea */
		return REGISTER;
	case 0x31:
	case 0x89:
		return EITHER;
	case 0xc7:
		return IMMEDIATE;
	default:
		return UNKNOWN;
	}
}

/* Bytes of an instruction that does the same wherever it stands, and leaves %eax alone; 0: it is
 * none. */
static size_t step(const unsigned char *p, size_t n)
{
	unsigned rex = n > 0 && (p[0] & 0xf0) == REX ? p[0] : 0;
	size_t head = rex ? 1 : 0, len;
	bool eax;

	if (n < head + 2)
		return 0;
	if ((p[head] & 0xf8) == MOV_EAX) { /* mov of a number */
		len = head + 1 + (rex & REX_W ? 8u : 4u);
		return p[head] == MOV_EAX && !(rex & REX_B) ? 0 : len <= n ? len : 0;
	}
	enum what is = kind_of(p[head]);
	len = is == UNKNOWN ? 0 : address(p + head + 1, n - head - 1);
	if (len == 0)
		return 0;
	unsigned modrm = p[head + 1];
	if (is == REGISTER)
		eax = (modrm >> 3 & 7) == 0 && !(rex & REX_R);
	else
		eax = modrm >> 6 == 3 && (modrm & 7) == 0 && !(rex & REX_B);
	len += head + 1 + (is == IMMEDIATE ? 4 : 0);
	return eax || len > n ? 0 : len;
}

static bool follows(const unsigned char *code, size_t n, struct rama_enter_site *s)
{
	size_t at = 0;

	while (at <= RAMA_ENTER_BETWEEN && at + 2 <= n) {
		size_t len;

		if (code[at] == 0x0f && code[at + 1] == 0x05) {
			memcpy(s->between, code, at);
			s->n = (unsigned)at;
			return true;
		}
		len = step(code + at, n - at);
		if (len == 0)
			return false;
		at += len;
	}
	return false;
}

unsigned rama_enter_find(const unsigned char *code, size_t n, uint64_t from, uint32_t number,
			 struct rama_enter_site *to, unsigned most)
{
	unsigned found = 0;

	for (size_t i = 0; i + RAMA_ENTER_JUMP + 2 <= n && found < most; i++) {
		struct rama_enter_site *s = &to[found];
		uint32_t is;

		if (code[i] != MOV_EAX)
			continue;
		memcpy(&is, code + i + 1, sizeof(is));
		/* behind such a byte it is the end of another instruction, perhaps */
		if (is != number || (i > 0 && (code[i - 1] & 0xf0) == REX))
			continue;
		if (!follows(code + i + RAMA_ENTER_JUMP, n - i - RAMA_ENTER_JUMP, s))
			continue;
		s->at = from + i;
		s->back = s->at + RAMA_ENTER_JUMP + s->n + 2;
		found++;
	}
	return found;
}

static bool reaches(uint64_t from, uint64_t to)
{
	return to - from < JUMP_FAR || from - to < JUMP_FAR;
}

static size_t put(unsigned char *to, size_t at, const void *bytes, size_t n)
{
	memcpy(to + at, bytes, n);
	return at + n;
}

size_t rama_enter_stub(const struct rama_enter_site *s, uint64_t lies, uint64_t instead,
		       unsigned char to[RAMA_ENTER_STUB])
{
	static const unsigned char down[] = { 0x48, 0x8d, 0x64, 0x24, 0x80 };
	static const unsigned char up[] = { 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0 };
	static const unsigned char call[] = { 0xff, 0x15 }, jump[] = { 0xe9 };
	enum { POINTER = RAMA_ENTER_STUB - 8 };
	uint32_t away;
	size_t n;

	if (s->n > RAMA_ENTER_BETWEEN || !reaches(lies, s->back) || !reaches(lies, s->at))
		return 0;
	n = put(to, 0, s->between, s->n);
	n = put(to, n, down, sizeof(down));
	n = put(to, n, call, sizeof(call));
	away = (uint32_t)(POINTER - (n + 4));
	n = put(to, n, &away, sizeof(away));
	n = put(to, n, up, sizeof(up));
	n = put(to, n, jump, sizeof(jump));
	away = (uint32_t)(s->back - (lies + n + 4));
	n = put(to, n, &away, sizeof(away));
	memset(to + n, 0xcc, POINTER - n);
	put(to, POINTER, &instead, sizeof(instead));
	return RAMA_ENTER_STUB;
}
