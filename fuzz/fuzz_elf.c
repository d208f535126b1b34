/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_elf.c: the input is a file that is about to be executed: an ELF program, a script, or
 * anything else; the first byte says which name it has. Whatever it is, few bytes are read, and
 * what is told of it makes sense. */
#include <string.h>

#include "base/code/preload.h"
#include "base/code/program.h"
#include "fuzz.h"
#include "logfile/unseen.h"

struct file {
	struct fuzz_input in;
	unsigned reads;
};

static long read_file(void *ctx, uint64_t off, void *buf, size_t n)
{
	struct file *f = ctx;

	CHECK(++f->reads < 20000);
	if (off >= f->in.n)
		return 0;
	n = n < f->in.n - off ? n : (size_t)(f->in.n - off);
	memcpy(buf, f->in.p + off, n);
	return (long)n;
}

/* a list of libraries, and the lines of a log's metadata: texts from outside, too */
static void check_texts(const struct fuzz_input *in)
{
	char text[512] = "", out[600], again[600], line[RAMA_LOG_UNSEEN_LINE];
	struct rama_log_unseen_sum sum = { 0 }, back = { 0 };

	if (in->n > 0)
		memcpy(text, in->p, in->n < sizeof(text) - 1 ? in->n : sizeof(text) - 1);
	CHECK(rama_preload_with(out, sizeof(out), text, "/own.so"));
	CHECK(rama_preload_has(out, "/own.so"));
	CHECK(rama_preload_without(again, sizeof(again), out, "/own.so"));
	CHECK(!rama_preload_has(again, "/own.so"));
	CHECK(rama_preload_first(again, sizeof(again), out, "libasan.so.8"));
	CHECK(strncmp(again, "libasan.so.8", 12) == 0);
	rama_log_unseen_read(&sum, text);
	rama_log_unseen_line(&sum, line);
	rama_log_unseen_read(&back, line);
	CHECK(memcmp(sum.n, back.n, sizeof(sum.n)) == 0);
	rama_log_unseen_replace(&sum, text, sizeof(text));
	CHECK(strlen(text) < sizeof(text));
	rama_log_unseen_text(&sum, out, sizeof(out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { NULL, "prog", "/lib64/ld-linux-x86-64.so.2",
					     "ld-musl-x86_64.so.1" };
	struct file f = { .in = { data, size } };
	const char *name = names[fuzz_take_byte(&f.in) % 4];
	struct rama_elf_bytes from = { read_file, &f };
	struct rama_elf e;
	char path[256];

	rama_elf_look(&e, &from, name);
	CHECK(e.why < RAMA_UNSEEN_REASONS && (e.is || e.why == RAMA_UNSEEN_NOT));
	CHECK(memchr(e.first, '\0', sizeof(e.first)) != NULL);
	CHECK(e.first[0] == '\0' || (e.why == RAMA_UNSEEN_NOT && strpbrk(e.first, ": \n") == NULL));
	if (rama_program_script((const char *)f.in.p, f.in.n < 256 ? f.in.n : 256, path,
				sizeof(path)))
		CHECK(!e.is && path[0] != '\0' && strpbrk(path, " \t\n") == NULL);
	check_texts(&f.in);
	return 0;
}
