/* SPDX-License-Identifier: BSD-3-Clause */
/* sandbox.c: a filter is a program that only jumps forward. It is run with the number of the
 * call and the processor known and all else unknown; where a jump depends on what is not known
 * both ways are gone. */
#include "config/sandbox.h"

#include <linux/seccomp.h>
#include <string.h>

enum { WAYS = 64, STEPS = 20000 };

struct value {
	uint32_t v;
	bool known;
};

struct way {
	size_t at;
	struct value a, x, mem[BPF_MEMWORDS];
};

struct run {
	const struct sock_filter *filter;
	size_t n;
	uint32_t arch, call;
	struct way way[WAYS]; /* still to be gone */
	unsigned ways;
};

static struct value known(uint32_t v)
{
	return (struct value){ v, true };
}

/* a word of struct seccomp_data */
static struct value word(const struct run *r, uint32_t off)
{
	if (off == offsetof(struct seccomp_data, nr))
		return known(r->call);
	if (off == offsetof(struct seccomp_data, arch))
		return known(r->arch);
	return (struct value){ 0 };
}

static struct value calculate(uint16_t op, struct value a, struct value b)
{
	if (op == BPF_NEG)
		return (struct value){ -a.v, a.known };
	if (!a.known || !b.known)
		return (struct value){ 0 };
	switch (op) {
	case BPF_ADD:
		return known(a.v + b.v);
	case BPF_SUB:
		return known(a.v - b.v);
	case BPF_MUL:
		return known(a.v * b.v);
	case BPF_DIV:
		return b.v ? known(a.v / b.v) : (struct value){ 0 };
	case BPF_AND:
		return known(a.v & b.v);
	case BPF_OR:
		return known(a.v | b.v);
	case BPF_XOR:
		return known(a.v ^ b.v);
	case BPF_LSH:
		return b.v < 32 ? known(a.v << b.v) : (struct value){ 0 };
	case BPF_RSH:
		return b.v < 32 ? known(a.v >> b.v) : (struct value){ 0 };
	}
	return (struct value){ 0 };
}

static bool is_met(uint16_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default: /* BPF_JSET */
		return (a & b) != 0;
	}
}

/* `w` goes on one way; the other one is kept for later. false: there are too many */
static bool branch(struct run *r, struct way *w, const struct sock_filter *i)
{
	uint16_t op = BPF_OP(i->code);
	struct value b = BPF_SRC(i->code) == BPF_X ? w->x : known(i->k);

	if (op == BPF_JA) {
		w->at += i->k;
		return true;
	}
	if (w->a.known && b.known) {
		w->at += is_met(op, w->a.v, b.v) ? i->jt : i->jf;
		return true;
	}
	if (r->ways == WAYS)
		return false;
	r->way[r->ways] = *w;
	r->way[r->ways++].at += i->jt;
	w->at += i->jf;
	return true;
}

static struct value load(const struct run *r, const struct way *w, const struct sock_filter *i)
{
	switch (BPF_MODE(i->code)) {
	case BPF_IMM:
		return known(i->k);
	case BPF_LEN:
		return known(sizeof(struct seccomp_data));
	case BPF_MEM:
		return i->k < BPF_MEMWORDS ? w->mem[i->k] : (struct value){ 0 };
	case BPF_ABS:
		return BPF_SIZE(i->code) == BPF_W ? word(r, i->k) : (struct value){ 0 };
	}
	return (struct value){ 0 };
}

static bool spares(struct value action)
{
	switch (action.v & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
	case SECCOMP_RET_ERRNO:
		return action.known;
	}
	return false;
}

/* one instruction that is neither a jump nor the end */
static void step(const struct run *r, struct way *w, const struct sock_filter *i)
{
	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
		w->a = load(r, w, i);
		break;
	case BPF_LDX:
		w->x = load(r, w, i);
		break;
	case BPF_ST:
	case BPF_STX:
		if (i->k < BPF_MEMWORDS)
			w->mem[i->k] = BPF_CLASS(i->code) == BPF_ST ? w->a : w->x;
		break;
	case BPF_ALU:
		w->a = calculate(BPF_OP(i->code), w->a,
				 BPF_SRC(i->code) == BPF_X ? w->x : known(i->k));
		break;
	case BPF_MISC:
		if (BPF_MISCOP(i->code) == BPF_TAX)
			w->x = w->a;
		else
			w->a = w->x;
		break;
	}
}

/* to the end of one way */
static bool go(struct run *r, struct way *w, unsigned *steps)
{
	while (w->at < r->n && (*steps)++ < STEPS) {
		const struct sock_filter *i = &r->filter[w->at++];

		if (BPF_CLASS(i->code) == BPF_RET)
			return spares(BPF_RVAL(i->code) == BPF_A ? w->a : known(i->k));
		if (BPF_CLASS(i->code) != BPF_JMP)
			step(r, w, i);
		else if (!branch(r, w, i))
			return false;
	}
	return false; /* it has no end, or one that is too far away */
}

bool rama_config_sandbox_spares(const struct sock_filter *filter, size_t n, uint32_t arch,
				uint32_t call)
{
	struct run r = { .filter = filter, .n = n, .arch = arch, .call = call };
	unsigned steps = 0;

	r.way[0].a = r.way[0].x = known(0);
	for (unsigned i = 0; i < BPF_MEMWORDS; i++)
		r.way[0].mem[i] = known(0);
	r.ways = 1;
	while (r.ways > 0) {
		struct way w = r.way[--r.ways];

		if (!go(&r, &w, &steps))
			return false;
	}
	return true;
}
