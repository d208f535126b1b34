/* SPDX-License-Identifier: BSD-3-Clause */
/* unwind.c: a table, sorted by address, leads to the description of a function (FDE), that to
 * what many functions have in common (CIE). Both hold small programs, whose result is one row:
 * where the frame begins (CFA), and where in it the registers of the caller are. */
#include "base/code/unwind.h"

#include <string.h>

enum {
	ENC_PCREL_4 = 0x1b,  /* signed, 4 bytes, from where it stands */
	ENC_TABLE = 0x3b,    /* signed, 4 bytes, from the table's head */
	ENC_UNSIGNED_4 = 3,  /* 4 bytes as they are */
	FDES_MOST = 1 << 24, /* of a module */
	BYTES_MOST = 65536,  /* of a description */
	STEPS_MOST = 10000,  /* of a program */
	KEPT = 4,	     /* rows that a program puts aside */
	FRAME_MOST = 1 << 24
};

/* ---- bytes, one after the other -------------------------------------------------------------- */

struct bytes {
	struct rama_unwind *u;
	uint64_t at, end;
	bool bad;
	uint32_t have, used;
	unsigned char buf[64];
};

static uint64_t place(const struct bytes *b)
{
	return b->at - (b->have - b->used);
}

static void begin(struct bytes *b, struct rama_unwind *u, uint64_t at, uint64_t end)
{
	*b = (struct bytes){ .u = u, .at = at, .end = end, .bad = end < at };
}

static uint8_t byte(struct bytes *b)
{
	if (b->used == b->have) {
		uint64_t n = b->end - b->at;

		n = n < sizeof(b->buf) ? n : sizeof(b->buf);
		b->used = b->have = 0;
		if (b->bad || n == 0 || !b->u->read(b->u->ctx, b->at, b->buf, n)) {
			b->bad = true;
			return 0;
		}
		b->at += n;
		b->have = (uint32_t)n;
	}
	return b->buf[b->used++];
}

static uint64_t fixed(struct bytes *b, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)byte(b) << 8 * i;
	return v;
}

static uint64_t leb(struct bytes *b, bool is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t c;

	do {
		c = byte(b);
		if (shift < 64)
			v |= (uint64_t)(c & 0x7f) << shift;
		shift += 7;
	} while (c & 0x80 && shift < 70);
	if (is_signed && c & 0x40 && shift < 64)
		v |= ~0ull << shift;
	return v;
}

static void skip(struct bytes *b, uint64_t n)
{
	for (uint64_t i = 0; i < n && !b->bad; i++)
		byte(b);
}

/* ---- which function -------------------------------------------------------------------------- */

static int32_t signed_4(const unsigned char *p)
{
	uint32_t v =
		(uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;

	return (int32_t)v;
}

/* the last entry that does not lie behind pc; 0: there is none */
static uint64_t find_fde(struct rama_unwind *u, uint64_t tables, uint64_t pc)
{
	unsigned char head[12], entry[8];
	uint64_t low = 0, high;

	if (!u->read(u->ctx, tables, head, sizeof(head)) || head[0] != 1 ||
	    head[1] != ENC_PCREL_4 || head[2] != ENC_UNSIGNED_4 || head[3] != ENC_TABLE)
		return 0;
	high = (uint32_t)signed_4(head + 8);
	if (high == 0 || high > FDES_MOST)
		return 0;
	while (high - low > 1) {
		uint64_t mid = low + (high - low) / 2;

		if (!u->read(u->ctx, tables + 12 + 8 * mid, entry, sizeof(entry)))
			return 0;
		if (tables + (uint64_t)(int64_t)signed_4(entry) <= pc)
			low = mid;
		else
			high = mid;
	}
	if (!u->read(u->ctx, tables + 12 + 8 * low, entry, sizeof(entry)) ||
	    tables + (uint64_t)(int64_t)signed_4(entry) > pc)
		return 0;
	return tables + (uint64_t)(int64_t)signed_4(entry + 4);
}

/* ---- what is known of it --------------------------------------------------------------------- */

struct about {
	uint64_t code_align;
	int64_t data_align;
	uint64_t start, size;
	struct bytes first, own; /* the programs of both */
	bool signal;
};

/* *to: what comes behind length and link; its end. *link: the second number */
static bool open_entry(struct rama_unwind *u, uint64_t at, struct bytes *to, uint32_t *link)
{
	unsigned char head[8];
	uint32_t n;

	if (!u->read(u->ctx, at, head, sizeof(head)))
		return false;
	n = (uint32_t)signed_4(head);
	*link = (uint32_t)signed_4(head + 4);
	if (n < 8 || n > BYTES_MOST)
		return false;
	begin(to, u, at + 8, at + 4 + n);
	return true;
}

/* letters behind the first, each of which has its say in the part of known size */
static bool read_letters(struct bytes *b, const char *letters, struct about *a)
{
	uint64_t n = leb(b, false), end = place(b) + n;
	bool good = true;

	for (; *letters != '\0' && good && !b->bad; letters++) {
		if (*letters == 'R')
			good = byte(b) == ENC_PCREL_4;
		else if (*letters == 'L')
			byte(b);
		else if (*letters == 'P') /* its size depends on a code; 4 or 8 bytes */
			skip(b, (byte(b) & 7) == 3 ? 4 : 8);
		else
			good = *letters == 'S';
		a->signal = a->signal || *letters == 'S';
	}
	/* whatever they were: the end is known */
	if (place(b) < end)
		skip(b, end - place(b));
	return good && !b->bad && place(b) == end;
}

static bool read_cie(struct rama_unwind *u, uint64_t at, struct about *a)
{
	struct bytes *b = &a->first;
	char letters[8] = "";
	unsigned n = 0;
	uint32_t link;
	uint8_t version;

	if (!open_entry(u, at, b, &link) || link != 0)
		return false;
	version = byte(b);
	while (n < sizeof(letters) && (letters[n] = (char)byte(b)) != '\0')
		n++;
	if (n == sizeof(letters) || (version != 1 && version != 3))
		return false;
	a->code_align = leb(b, false);
	a->data_align = (int64_t)leb(b, true);
	if ((version == 1 ? byte(b) : leb(b, false)) != RAMA_UNWIND_PC)
		return false;
	/* without these letters addresses have another form, which nobody uses here */
	return letters[0] == 'z' && strchr(letters, 'R') != NULL && read_letters(b, letters + 1, a);
}

static bool read_fde(struct rama_unwind *u, uint64_t at, struct about *a)
{
	uint64_t here;
	uint32_t link;

	if (!open_entry(u, at, &a->own, &link) || link == 0 || link > at ||
	    !read_cie(u, at + 4 - link, a))
		return false;
	here = place(&a->own);
	a->start = here + (uint64_t)(int64_t)(int32_t)fixed(&a->own, 4);
	a->size = fixed(&a->own, 4);
	skip(&a->own, leb(&a->own, false));
	return !a->own.bad;
}

/* ---- its program ----------------------------------------------------------------------------- */

enum rule { SAME, LOST, AT_CFA, IS_CFA, AT_REGISTER };

struct row {
	uint8_t cfa; /* a register */
	bool deref;  /* where the frame begins stands there */
	int32_t cfa_off;
	uint8_t rule[RAMA_UNWIND_REGISTERS];
	uint8_t base[RAMA_UNWIND_REGISTERS];
	int32_t off[RAMA_UNWIND_REGISTERS];
};

/* An expression of one of two forms: a register and a distance, or what stands there. Others
 * (those of stubs that bind a function) are not understood. */
static bool read_expression(struct bytes *b, uint8_t *base, int32_t *off, bool *deref)
{
	uint64_t n = leb(b, false), end = place(b) + n;
	uint8_t op = byte(b);
	int64_t distance = (int64_t)leb(b, true);

	*deref = false;
	if (op < 0x70 || op >= 0x70 + RAMA_UNWIND_PC || distance != (int32_t)distance || b->bad)
		return false;
	*base = op - 0x70;
	*off = (int32_t)distance;
	if (place(b) == end)
		return true;
	*deref = byte(b) == 0x06;
	return *deref && place(b) == end;
}

static bool set_rule(struct row *r, uint64_t reg, enum rule rule, int64_t off)
{
	if (reg >= RAMA_UNWIND_REGISTERS)
		return reg < 128; /* vectors: nobody asks for them */
	r->rule[reg] = (uint8_t)rule;
	r->off[reg] = (int32_t)off;
	return off == r->off[reg];
}

static bool set_cfa(struct row *r, uint64_t reg, int64_t off)
{
	r->cfa = (uint8_t)reg;
	r->cfa_off = (int32_t)off;
	r->deref = false;
	return reg < RAMA_UNWIND_PC && off == r->cfa_off;
}

struct run {
	const struct about *a;
	struct row row, first, kept[KEPT];
	unsigned n_kept;
	uint64_t loc, pc;
};

static bool step_expression(struct run *x, struct bytes *b, uint8_t op)
{
	uint64_t reg = op == 0x0f ? 0 : leb(b, false);
	uint8_t base = 0;
	int32_t off = 0;
	bool deref = false;

	if (!read_expression(b, &base, &off, &deref))
		return false;
	if (op == 0x0f) {
		x->row.cfa = base;
		x->row.cfa_off = off;
		x->row.deref = deref;
		return true;
	}
	if (reg < RAMA_UNWIND_REGISTERS)
		x->row.base[reg] = base;
	return !deref && set_rule(&x->row, reg, AT_REGISTER, off);
}

static bool restore(struct run *x, uint64_t reg)
{
	if (reg < RAMA_UNWIND_REGISTERS) {
		x->row.rule[reg] = x->first.rule[reg];
		x->row.base[reg] = x->first.base[reg];
		x->row.off[reg] = x->first.off[reg];
	}
	return true;
}

static bool set_aside(struct run *x, bool back)
{
	if (back ? x->n_kept == 0 : x->n_kept == KEPT)
		return false;
	if (back)
		x->row = x->kept[--x->n_kept];
	else
		x->kept[x->n_kept++] = x->row;
	return true;
}

static int64_t scaled(const struct about *a, uint64_t n)
{
	return (int64_t)(n * (uint64_t)a->data_align);
}

static bool step_cfa(struct run *x, struct bytes *b, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case 0x0c: /* register and distance */
		reg = leb(b, false);
		return set_cfa(&x->row, reg, (int64_t)leb(b, false));
	case 0x0d:
		return set_cfa(&x->row, leb(b, false), x->row.cfa_off);
	case 0x0e:
		return set_cfa(&x->row, x->row.cfa, (int64_t)leb(b, false));
	case 0x12:
		reg = leb(b, false);
		return set_cfa(&x->row, reg, scaled(x->a, leb(b, true)));
	default: /* 0x13 */
		return set_cfa(&x->row, x->row.cfa, scaled(x->a, leb(b, true)));
	}
}

static bool step_register(struct run *x, struct bytes *b, uint8_t op)
{
	uint64_t reg = leb(b, false);

	switch (op) {
	case 0x05: /* saved, at a distance */
		return set_rule(&x->row, reg, AT_CFA, scaled(x->a, leb(b, false)));
	case 0x06:
		return restore(x, reg);
	case 0x07:
		return set_rule(&x->row, reg, LOST, 0);
	case 0x08:
		return set_rule(&x->row, reg, SAME, 0);
	case 0x11:
		return set_rule(&x->row, reg, AT_CFA, scaled(x->a, leb(b, true)));
	default: /* 0x14: it is that, and is not saved there */
		return set_rule(&x->row, reg, IS_CFA, scaled(x->a, leb(b, false)));
	}
}

/* false: it is not understood, or at its end */
static bool step(struct run *x, struct bytes *b)
{
	uint8_t op = byte(b), low = op & 0x3f;

	if (b->bad)
		return false;
	if (op >> 6 == 1)
		x->loc += low * x->a->code_align;
	else if (op >> 6 == 2)
		return set_rule(&x->row, low, AT_CFA, scaled(x->a, leb(b, false)));
	else if (op >> 6 == 3)
		return restore(x, low);
	else if (op >= 0x02 && op <= 0x04)
		x->loc += fixed(b, 1u << (op - 2)) * x->a->code_align;
	else if ((op >= 0x05 && op <= 0x08) || op == 0x11 || op == 0x14)
		return step_register(x, b, op);
	else if (op == 0x0a || op == 0x0b)
		return set_aside(x, op == 0x0b);
	else if ((op >= 0x0c && op <= 0x0e) || op == 0x12 || op == 0x13)
		return step_cfa(x, b, op);
	else if (op == 0x0f || op == 0x10)
		return step_expression(x, b, op);
	else if (op == 0x2e) /* size of arguments: for exceptions only */
		leb(b, false);
	else
		return op == 0x00;
	return true;
}

/* until it speaks of what lies behind pc */
static bool run(struct run *x, struct bytes *b)
{
	for (unsigned n = 0; n < STEPS_MOST; n++) {
		if (place(b) >= b->end)
			return true;
		if (!step(x, b) || b->bad)
			return false;
		if (x->loc > x->pc)
			return true;
	}
	return false;
}

/* ---- up -------------------------------------------------------------------------------------- */

static bool word(struct rama_unwind *u, uint64_t at, uint64_t *to)
{
	return u->read(u->ctx, at, to, sizeof(*to));
}

static bool is_known(const struct rama_unwind *u, unsigned reg)
{
	return u->known >> reg & 1;
}

static bool find_cfa(struct rama_unwind *u, const struct row *r, uint64_t *cfa)
{
	if (!is_known(u, r->cfa))
		return false;
	*cfa = u->reg[r->cfa] + (uint64_t)(int64_t)r->cfa_off;
	if (r->deref && !word(u, *cfa, cfa))
		return false;
	return *cfa % 8 == 0 && *cfa > u->reg[RAMA_UNWIND_RSP] &&
	       *cfa - u->reg[RAMA_UNWIND_RSP] <= FRAME_MOST;
}

/* the caller's registers */
static bool apply(struct rama_unwind *u, const struct row *r)
{
	struct rama_unwind to = *u;
	uint64_t cfa;

	if (!find_cfa(u, r, &cfa))
		return false;
	for (unsigned i = 0; i < RAMA_UNWIND_REGISTERS; i++) {
		uint64_t off = (uint64_t)(int64_t)r->off[i];
		bool known = is_known(u, i);

		if (r->rule[i] == LOST)
			known = false;
		else if (r->rule[i] == AT_CFA)
			known = word(u, cfa + off, &to.reg[i]);
		else if (r->rule[i] == AT_REGISTER)
			known = is_known(u, r->base[i]) &&
				word(u, u->reg[r->base[i]] + off, &to.reg[i]);
		else if (r->rule[i] == IS_CFA)
			to.reg[i] = cfa + off;
		to.known = (to.known & ~(1u << i)) | (uint32_t)known << i;
	}
	if (r->rule[RAMA_UNWIND_RSP] == SAME) {
		to.reg[RAMA_UNWIND_RSP] = cfa;
		to.known |= 1u << RAMA_UNWIND_RSP;
	}
	*u = to;
	return r->rule[RAMA_UNWIND_PC] != SAME && is_known(u, RAMA_UNWIND_PC) &&
	       is_known(u, RAMA_UNWIND_RSP) && u->reg[RAMA_UNWIND_PC] != 0;
}

bool rama_unwind_up(struct rama_unwind *u, uint64_t tables)
{
	struct about a = { .code_align = 1 };
	/* a return address may lie behind the last instruction of its function */
	uint64_t pc = u->reg[RAMA_UNWIND_PC] - !u->exact, fde = find_fde(u, tables, pc),
		 before = u->reg[RAMA_UNWIND_RSP];

	if (fde == 0 || !read_fde(u, fde, &a))
		return false;
	if (a.signal) /* it was interrupted there, and called nothing */
		pc = u->reg[RAMA_UNWIND_PC];
	if (pc - a.start >= a.size)
		return false;

	struct run x = { .a = &a, .loc = 0, .pc = UINT64_MAX };

	if (!run(&x, &a.first))
		return false;
	x.first = x.row;
	x.loc = a.start;
	x.pc = pc;
	if (!run(&x, &a.own) || !apply(u, &x.row))
		return false;
	u->exact = a.signal;
	return u->reg[RAMA_UNWIND_RSP] > before;
}
