/* SPDX-License-Identifier: BSD-3-Clause */
/* heap.c: the memory of the code that writes a log inside the application. The linker turns
 * malloc, free and their relatives in that code into these (--wrap): the application's own heap
 * may be locked, replaced or broken at that moment. Small pieces are never given back; it is
 * used once, at the end. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/memory.h"
#include "capture/runtime.h"

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);

enum { BLOCK = 1 << 20, LARGE = 1 << 17, HEAD = 16 };
/* the first pieces need no system call: a rank that is quiet still has to say so */
static unsigned char first[4096] __attribute__((aligned(16)));
static unsigned char *block = first;
static size_t left = sizeof(first);
static uint32_t lock;

static void *pages(size_t n)
{
	return rama_cap_memory_borrow(n);
}

void *__wrap_malloc(size_t n)
{
	size_t need = (n + HEAD + 15) & ~(size_t)15;
	unsigned char *p;

	if (need < n)
		return NULL;
	if (need >= LARGE) {
		p = pages(need);
	} else {
		/* who holds it may have been left by a jump, and never let go */
		for (unsigned i = 0; __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE); i++) {
			if (i == RAMA_CAP_PATIENCE)
				return NULL;
			rama_cap_rest(i);
		}
		if (left < need) {
			block = pages(BLOCK);
			left = block ? BLOCK : 0;
		}
		p = block;
		if (p) {
			block += need;
			left -= need;
		}
		__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	}
	if (!p)
		return NULL;
	memcpy(p, &need, sizeof(need));
	return p + HEAD;
}

void __wrap_free(void *p)
{
	size_t need;

	if (!p)
		return;
	memcpy(&need, (unsigned char *)p - HEAD, sizeof(need));
	if (need >= LARGE)
		rama_cap_sys3(SYS_munmap, (unsigned char *)p - HEAD, need, 0);
}

void *__wrap_calloc(size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all))
		return NULL;
	return __wrap_malloc(all); /* pages are zero, and no piece is used twice */
}

void *__wrap_realloc(void *p, size_t n)
{
	size_t had = 0;

	if (p)
		memcpy(&had, (unsigned char *)p - HEAD, sizeof(had));
	if (p && n <= had - HEAD)
		return p;
	void *q = __wrap_malloc(n);
	if (q && p) {
		memcpy(q, p, had - HEAD);
		__wrap_free(p);
	}
	return q;
}
