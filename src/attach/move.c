/* SPDX-License-Identifier: BSD-3-Clause */
/* move.c: whole instructions are copied until five bytes are free. What is told relative to where
 * they stand (operands, jumps, calls) is told anew; short jumps become long ones. Whatever else
 * would come out differently is refused. */
#include "attach/move.h"

#include <stdbool.h>
#include <string.h>

#include "base/code/probe.h"

const char *rama_attach_move_why(enum rama_attach_move why)
{
	static const char *const text[] = {
		[RAMA_ATTACH_MOVE_DONE] = "it can be observed",
		[RAMA_ATTACH_MOVE_SHORT] = "it is too short",
		[RAMA_ATTACH_MOVE_INSIDE] = "it jumps to its own beginning",
		[RAMA_ATTACH_MOVE_FAR] = "its beginning refers to what is too far away",
		[RAMA_ATTACH_MOVE_LOOP] = "its beginning has a jump that cannot be moved",
		[RAMA_ATTACH_MOVE_CALL] = "its beginning calls another function",
		[RAMA_ATTACH_MOVE_TRAP] = "a debugger has a breakpoint there",
		[RAMA_ATTACH_MOVE_UNKNOWN] = "it cannot be decoded",
		[RAMA_ATTACH_MOVE_NOT_HERE] = "this iorama was built without Zydis (libzydis-dev), "
					      "or for another processor",
	};

	return text[why];
}

#if defined(RAMA_HAVE_ZYDIS) && defined(__x86_64__)
#include <Zydis/Zydis.h>

struct work {
	struct rama_attach_moved *m;
	const unsigned char *code;
	size_t n, at; /* bytes; the instruction that is being looked at */
	uint64_t from, to;
	ZydisDecoder decoder;
	ZydisDecodedInstruction i;
};

static bool decode(struct work *w, size_t at)
{
	w->at = at;
	return ZYAN_SUCCESS(
		ZydisDecoderDecodeInstruction(&w->decoder, NULL, w->code + at, w->n - at, &w->i));
}

static bool is_branch(const ZydisDecodedInstruction *i)
{
	return i->raw.imm[0].is_relative && i->raw.imm[0].size > 0;
}

static bool is_call(const ZydisDecodedInstruction *i)
{
	return i->meta.category == ZYDIS_CATEGORY_CALL;
}

static bool is_near_data(const ZydisDecodedInstruction *i)
{
	return (i->attributes & ZYDIS_ATTRIB_HAS_MODRM) && i->raw.modrm.mod == 0 &&
	       i->raw.modrm.rm == 5 && i->raw.disp.size == 32;
}

/* nothing comes after it */
static bool is_last(const ZydisDecodedInstruction *i)
{
	return i->meta.category == ZYDIS_CATEGORY_RET ||
	       i->meta.category == ZYDIS_CATEGORY_UNCOND_BR || i->mnemonic == ZYDIS_MNEMONIC_UD2 ||
	       i->mnemonic == ZYDIS_MNEMONIC_HLT;
}

/* from the beginning of the function; it may lie outside */
static int64_t target(const struct work *w)
{
	return (int64_t)w->at + w->i.length + w->i.raw.imm[0].value.s;
}

static bool put(struct work *w, const void *bytes, size_t n)
{
	if (w->m->n + n > sizeof(w->m->code))
		return false;
	memcpy(w->m->code + w->m->n, bytes, n);
	w->m->n += n;
	return true;
}

/* Where four bytes lead that stand at the end of what is written, and lead to `address`. */
static bool put_relative(struct work *w, uint64_t address, size_t follow)
{
	int64_t d = (int64_t)(address - (w->to + w->m->n + 4 + follow));
	int32_t d32 = (int32_t)d;

	return d == d32 && put(w, &d32, sizeof(d32));
}

static enum rama_attach_move put_branch(struct work *w)
{
	const ZydisDecodedInstruction *i = &w->i;
	const unsigned char *b = w->code + w->at;
	uint64_t goes = w->from + (uint64_t)target(w);
	unsigned char op[2] = { 0x0f, (unsigned char)(0x80 | (i->opcode & 15)) };
	bool ok;

	/* of a short one with prefixes processors do not think the same */
	if (i->length == 2 && i->opcode == 0xeb)
		ok = put(w, "\xe9", 1);
	else if (i->length == 2 && i->opcode >= 0x70 && i->opcode <= 0x7f)
		ok = put(w, op, 2);
	else if (i->raw.imm[0].size == 32 && i->raw.imm[0].offset + 4 == i->length &&
		 i->mnemonic != ZYDIS_MNEMONIC_XBEGIN)
		ok = put(w, b, i->raw.imm[0].offset);
	else
		return RAMA_ATTACH_MOVE_LOOP;
	return ok && put_relative(w, goes, 0) ? RAMA_ATTACH_MOVE_DONE : RAMA_ATTACH_MOVE_FAR;
}

static enum rama_attach_move put_one(struct work *w)
{
	const ZydisDecodedInstruction *i = &w->i;
	const unsigned char *b = w->code + w->at;
	size_t disp = i->raw.disp.offset, rest = i->length - disp - 4;
	uint64_t address;

	w->m->step[w->m->steps].from = (uint8_t)w->at;
	w->m->step[w->m->steps++].to = (uint8_t)w->m->n;
	if (is_branch(i))
		return put_branch(w);
	if (!is_near_data(i))
		return put(w, b, i->length) ? RAMA_ATTACH_MOVE_DONE : RAMA_ATTACH_MOVE_FAR;
	address = w->from + w->at + i->length + (uint64_t)i->raw.disp.value;
	return put(w, b, disp) && put_relative(w, address, rest) && put(w, b + disp + 4, rest)
		       ? RAMA_ATTACH_MOVE_DONE
		       : RAMA_ATTACH_MOVE_FAR;
}

static enum rama_attach_move take_beginning(struct work *w)
{
	enum rama_attach_move rc = RAMA_ATTACH_MOVE_DONE;
	size_t at = 0;

	while (at < RAMA_PROBE_JUMP && rc == RAMA_ATTACH_MOVE_DONE) {
		if (at >= w->n)
			return RAMA_ATTACH_MOVE_SHORT;
		if (!decode(w, at))
			return RAMA_ATTACH_MOVE_UNKNOWN;
		if (w->i.mnemonic == ZYDIS_MNEMONIC_INT3)
			return RAMA_ATTACH_MOVE_TRAP;
		rc = put_one(w);
		at += w->i.length;
		if (at < RAMA_PROBE_JUMP && is_last(&w->i))
			return RAMA_ATTACH_MOVE_SHORT;
		if (at < RAMA_PROBE_JUMP && is_call(&w->i))
			return RAMA_ATTACH_MOVE_CALL;
	}
	w->m->taken = at;
	if (rc == RAMA_ATTACH_MOVE_DONE && !(put(w, "\xe9", 1) && put_relative(w, w->from + at, 0)))
		rc = RAMA_ATTACH_MOVE_FAR;
	return rc;
}

/* Does anything in it lead into what is taken? A call of itself does not count. */
static enum rama_attach_move look_at_all(struct work *w)
{
	for (size_t at = 0; at < w->n; at += w->i.length) {
		int64_t goes;

		if (!decode(w, at))
			return RAMA_ATTACH_MOVE_UNKNOWN;
		if (!is_branch(&w->i))
			continue;
		goes = target(w);
		if (goes >= 0 && goes < (int64_t)w->m->taken && !(goes == 0 && is_call(&w->i)))
			return RAMA_ATTACH_MOVE_INSIDE;
	}
	return RAMA_ATTACH_MOVE_DONE;
}

enum rama_attach_move rama_attach_move(struct rama_attach_moved *m, const unsigned char *code,
				       size_t n, uint64_t at, uint64_t to)
{
	struct work w = { .m = m, .code = code, .n = n, .from = at, .to = to };
	enum rama_attach_move rc;

	memset(m, 0, sizeof(*m));
	ZydisDecoderInit(&w.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	rc = take_beginning(&w);
	return rc == RAMA_ATTACH_MOVE_DONE ? look_at_all(&w) : rc;
}
#else
enum rama_attach_move rama_attach_move(struct rama_attach_moved *m, const unsigned char *code,
				       size_t n, uint64_t at, uint64_t to)
{
	(void)code, (void)n, (void)at, (void)to;
	memset(m, 0, sizeof(*m));
	return RAMA_ATTACH_MOVE_NOT_HERE;
}
#endif
