/* SPDX-License-Identifier: BSD-3-Clause */
/* witness.c GROUP:EVENT...: counts what the kernel says until its input ends; says "ready" first.
 * At the end a line for each event and thread: EVENT TID COUNT, and "lost N". */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/witness.h"

enum { MANY = 4096 };
static struct {
	unsigned event;
	uint32_t tid;
	uint64_t n;
} seen[MANY];

static void count(void *ctx, unsigned event, uint32_t tid, uint64_t t)
{
	(void)ctx, (void)t;
	for (unsigned i = 0; i < MANY; i++) {
		if (seen[i].n > 0 && (seen[i].event != event || seen[i].tid != tid))
			continue;
		seen[i].event = event;
		seen[i].tid = tid;
		seen[i].n++;
		return;
	}
}

int main(int argc, char **argv)
{
	struct pollfd in = { .events = POLLIN };
	struct rama_attach_witness *w;
	struct rama_err e = { 0 };
	uint64_t lost;

	if (rama_attach_witness_begin(&w, (const char *const *)argv + 1, (unsigned)argc - 1, &e) !=
	    0) {
		printf("no: %s\n", e.text);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (poll(&in, 1, 5) == 0)
		rama_attach_witness_take(w, count, NULL);
	lost = rama_attach_witness_take(w, count, NULL);
	rama_attach_witness_end(w);
	for (unsigned i = 0; i < MANY && seen[i].n > 0; i++)
		printf("%s %u %llu\n", argv[1 + seen[i].event], seen[i].tid,
		       (unsigned long long)seen[i].n);
	printf("lost %llu\n", (unsigned long long)lost);
	return 0;
}
