/* SPDX-License-Identifier: BSD-3-Clause */
/* strange.c: what looks like a translator of GlusterFS, and is none that is known: a table of
 * operations whose entries are its own functions or, with FOREIGN, those of the C library; with
 * LYING its table is as it should be, but what it takes for a frame points to where no memory is.
 * With PROGRAM it is a process that has loaded such ones, and calls an operation of the first for
 * each line it reads; it prints how often it was called. */
#ifdef PROGRAM
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int (*call)(void) = NULL;
	char line[16];

	for (int i = 1; i < argc; i++) {
		void *h = dlopen(argv[i], RTLD_NOW);

		if (h == NULL) {
			fprintf(stderr, "%s\n", dlerror());
			return 2;
		}
		if (i == 1)
			*(void **)&call = dlsym(h, "strange_call");
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct pollfd in = { .fd = STDIN_FILENO,
				     .events = POLLIN }; /* it can be borrowed here */

		if (poll(&in, 1, -1) < 1 || read(STDIN_FILENO, line, sizeof(line)) < 1)
			break;
		printf("%d\n", call());
		fflush(stdout);
	}
	return 0;
}
#else
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

enum { ENTRIES = 64, WRITEV = 96 / 8, FOPS = 96 / 8 };

static int calls;

static int entry(void)
{
	return ++calls;
}

typedef int function(void);
static function *table[ENTRIES];
void *xlator_api[32] = { [FOPS] = table };

__attribute__((constructor)) static void fill(void)
{
	for (int i = 0; i < ENTRIES; i++)
		table[i] = entry;
#ifdef FOREIGN
	table[WRITEV] = (function *)getppid;
#endif
}

#ifdef LYING
int strange_call(void)
{
	/* a translator at 120, a function that is called back at 128: as those of version 10 */
	static void *self[32], *frame[32] = { (void *)8, (void *)16, [15] = self, [16] = self };

	return ((int (*)(void *, void *, void *, void *, int, long, int, void *,
			 void *))table[WRITEV])(frame, self, (void *)24, (void *)32, 1, 0, 0, NULL,
						NULL);
}
#else
int strange_call(void)
{
	function *f = table[WRITEV];

	return f == entry || f == (function *)getppid ? f() : -1; /* it was changed */
}
#endif
#endif
