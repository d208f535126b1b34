/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_sandbox.c: the first bytes are the arguments of a system call, the rest a filter. If the
 * filter is said to spare the call, running it with these arguments must do so, too. */
#include <linux/seccomp.h>
#include <string.h>

#include "config/sandbox.h"
#include "fuzz.h"

#define ARCH 0xc000003eu
enum { CALL = 9, MOST = 4096 };

static uint32_t operation(uint16_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	}
	return -a;
}

static bool condition(uint16_t op, uint32_t a, uint32_t b)
{
	return op == BPF_JEQ   ? a == b
	       : op == BPF_JGT ? a > b
	       : op == BPF_JGE ? a >= b
			       : (a & b) != 0;
}

/* what the filter returns; false: the kernel would refuse such a filter, or it has no end */
static bool run(const struct sock_filter *f, size_t n, const struct seccomp_data *d,
		uint32_t *result)
{
	uint32_t a = 0, x = 0, m[BPF_MEMWORDS] = { 0 }, data[sizeof(*d) / 4];

	memcpy(data, d, sizeof(data));
	for (size_t at = 0; at < n;) {
		const struct sock_filter *i = &f[at++];
		uint32_t b = BPF_SRC(i->code) == BPF_X ? x : i->k;
		uint32_t mode = BPF_MODE(i->code), loaded = i->k;

		switch (BPF_CLASS(i->code)) {
		case BPF_RET:
			*result = BPF_RVAL(i->code) == BPF_A ? a : i->k;
			return true;
		case BPF_LD:
		case BPF_LDX:
			if ((mode == BPF_MEM && i->k >= BPF_MEMWORDS) ||
			    (mode == BPF_ABS &&
			     (i->k % 4 || i->k >= sizeof(*d) || BPF_SIZE(i->code) != BPF_W)) ||
			    (mode != BPF_MEM && mode != BPF_ABS && mode != BPF_IMM &&
			     mode != BPF_LEN))
				return false;
			loaded = mode == BPF_MEM   ? m[i->k]
				 : mode == BPF_ABS ? data[i->k / 4]
				 : mode == BPF_LEN ? (uint32_t)sizeof(*d)
						   : i->k;
			*(BPF_CLASS(i->code) == BPF_LD ? &a : &x) = loaded;
			break;
		case BPF_ST:
		case BPF_STX:
			if (i->k >= BPF_MEMWORDS)
				return false;
			m[i->k] = BPF_CLASS(i->code) == BPF_ST ? a : x;
			break;
		case BPF_ALU:
			if (BPF_OP(i->code) > BPF_XOR || BPF_OP(i->code) == BPF_MOD)
				return false;
			a = operation(BPF_OP(i->code), a, b);
			break;
		case BPF_JMP:
			if (BPF_OP(i->code) > BPF_JSET)
				return false;
			at += BPF_OP(i->code) == BPF_JA		 ? i->k
			      : condition(BPF_OP(i->code), a, b) ? i->jt
								 : i->jf;
			break;
		default:
			if (BPF_MISCOP(i->code) == BPF_TAX)
				x = a;
			else
				a = x;
		}
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct sock_filter filter[MOST];
	struct seccomp_data d = { .nr = CALL, .arch = ARCH };
	uint32_t got;

	if (size < sizeof(d.args))
		return 0;
	memcpy(d.args, bytes, sizeof(d.args));
	size_t n = (size - sizeof(d.args)) / sizeof(filter[0]);
	if (n > MOST)
		n = MOST;
	memcpy(filter, bytes + sizeof(d.args), n * sizeof(filter[0]));
	if (!rama_config_sandbox_spares(filter, n, ARCH, CALL) || !run(filter, n, &d, &got))
		return 0;
	got &= SECCOMP_RET_ACTION_FULL;
	CHECK(got == SECCOMP_RET_ALLOW || got == SECCOMP_RET_LOG || got == SECCOMP_RET_ERRNO);
	return 0;
}
