/* SPDX-License-Identifier: BSD-3-Clause */
/* confine.c: programs that confine themselves: seccomp, or no more reading of the processor's
 * counter. After that one of our own system calls, or the counter, would end the process. So we
 * notice the call that does it, and go quiet before it (rama_cap_go_quiet): what was recorded
 * stays, nothing is added.
 *
 * A filter that provably spares every system call of ours (table/own_calls.def) changes nothing. */
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "capture/runtime.h"
#include "config/sandbox.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* ---- filters --------------------------------------------------------------------------------- */

/* memory of the application, which may be none; false: it cannot be read */
static bool copy(void *to, const void *from, size_t n)
{
	struct iovec mine = { to, n }, theirs = { (void *)(uintptr_t)from, n };

	return rama_cap_sys6(SYS_process_vm_readv, rama_cap_sys3(SYS_getpid, 0, 0, 0), (long)&mine,
			     1, (long)&theirs, 1, 0) == (long)n;
}

static bool spares_us(const struct sock_filter *filter, size_t n)
{
	static const uint16_t own[] = {
#define OWN(name) SYS_##name,
#include "table/own_calls.def"
#undef OWN
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!rama_config_sandbox_spares(filter, n, ARCH, own[i]))
			return false;
	return true;
}

/* of the struct sock_fprog at this address */
static bool is_harmless(const void *at)
{
	struct sock_fprog prog;
	bool harmless = false;
	size_t size = BPF_MAXINSNS * sizeof(struct sock_filter);

	if (!copy(&prog, at, sizeof(prog)) || prog.len == 0 || prog.len > BPF_MAXINSNS)
		return false;
	long p = rama_cap_sys6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p < 0 && p > -4096)
		return false;
	if (copy((void *)p, prog.filter, prog.len * sizeof(struct sock_filter)))
		harmless = spares_us((const struct sock_filter *)p, prog.len);
	rama_cap_sys3(SYS_munmap, p, size, 0);
	return harmless;
}

/* ---- which call, and why it silences us; NULL: it does not ----------------------------------- */

/* as given to seccomp(2) */
static const char *by_seccomp(unsigned long op, const void *args)
{
	if (op == SECCOMP_SET_MODE_STRICT)
		return "seccomp strict";
	/* without a filter the call fails: that is how programs ask what there is */
	if (op == SECCOMP_SET_MODE_FILTER && args && !is_harmless(args))
		return "seccomp filter";
	return NULL;
}

static const char *by_prctl(unsigned long option, const long *a)
{
	if (option == PR_SET_SECCOMP && a[0] == SECCOMP_MODE_STRICT)
		return "seccomp strict";
	if (option == PR_SET_SECCOMP && a[0] == SECCOMP_MODE_FILTER)
		return by_seccomp(SECCOMP_SET_MODE_FILTER, (const void *)a[1]);
	if (option == PR_SET_TSC && a[0] == PR_TSC_SIGSEGV)
		return "PR_SET_TSC";
	return NULL;
}

const char *rama_cap_confines(long call, const long *a)
{
	const char *why = NULL;
	int saved = errno;

	/* the child of a vfork runs in memory that is not its own */
	if (rama_cap_off || rama_cap_quiet)
		return NULL;
	if (call == SYS_prctl)
		why = by_prctl((unsigned long)a[0], a + 1);
	else if (call == SYS_seccomp)
		why = by_seccomp((unsigned long)a[0], (const void *)a[2]);
	if (why)
		rama_cap_go_quiet(why);
	errno = saved;
	return why;
}

void rama_cap_confined(const char *why, long result)
{
	int saved = errno;

	if (why && result < 0)
		rama_cap_go_on();
	errno = saved;
}

/* takes any number of arguments, which a row cannot say */
typedef int any_prctl(int option, ...);
#ifdef RAMA_STATIC_WRAP
extern any_prctl real_prctl __asm__("__real_prctl");
#define REAL_PRCTL real_prctl
#else
#define REAL_PRCTL ((any_prctl *)RAMA_CAP_REAL(prctl))
#endif

RAMA_CAP_EXPORT int RAMA_CAP_SYM(prctl)(int option, ...)
{
	long a[5] = { option };
	va_list ap;

	va_start(ap, option);
	for (unsigned i = 1; i < 5; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	const char *why = rama_cap_confines(SYS_prctl, a);
	int r = REAL_PRCTL(option, a[1], a[2], a[3], a[4]);
	rama_cap_confined(why, r);
	return r;
}
