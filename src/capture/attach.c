/* SPDX-License-Identifier: BSD-3-Clause */
/* attach.c: the library comes into a process that runs already. Somebody else (src/attach) lends it
 * a thread, which loads it as libiorama-attach.so and calls iorama_attach(): then the slots through
 * which all objects of the process call functions that we replace get ours. A slot is data, one
 * aligned word: nobody has to stand still while it changes. iorama_detach() puts back what was
 * there; the library stays, since threads may be in it. */
#include "capture/attach.h"

#ifndef RAMA_STATIC_WRAP
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "capture/hooks/hooks.h"
#include "capture/mpi/mpi.h"
#include "capture/runtime.h"
#include "config/text.h"
#include "capture/wrap/wrap.h"

#if defined(__x86_64__)
enum { SLOT_CALL = R_X86_64_JUMP_SLOT, SLOT_DATA = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { SLOT_CALL = R_AARCH64_JUMP_SLOT, SLOT_DATA = R_AARCH64_GLOB_DAT };
#else
enum { SLOT_CALL = -1, SLOT_DATA = -1 };
#endif

#define MOST (1 << 16) /* slots that are changed; more has no program */
#define MARK "libiorama-attach.so"

struct slot {
	uintptr_t *at, was;
};

static struct {
	struct slot *slot;
	unsigned n;
	unsigned long long seen; /* objects that were ever loaded, when we looked */
	void *self;
	uintptr_t from, to; /* where we are */
	char settings[16384];
	bool busy;
} us;
bool rama_cap_attached;

static int is_own(struct dl_phdr_info *info, size_t size, void *to)
{
	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    (uintptr_t)&us - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) <
			    info->dlpi_phdr[i].p_memsz) {
			*(const char **)to = info->dlpi_name;
			return 1;
		}
	return 0;
}

/* dladdr() would look through all symbols as well. The name stays where it is: we are not
 * unloaded. */
const char *rama_cap_own_path(void)
{
	const char *path = NULL;

	dl_iterate_phdr(is_own, &path);
	return path ? path : "";
}

bool rama_cap_attach_is(void)
{
	const char *path = rama_cap_own_path(), *name = strrchr(path, '/');

	return strcmp(name ? name + 1 : path, MARK) == 0;
}

const char *rama_cap_attach_variable(const char *name, size_t n)
{
	for (const char *s = us.settings; *s; s += strlen(s) + 1)
		if (strncmp(s, name, n) == 0 && s[n] == '=')
			return s + n + 1;
	return NULL;
}

/* ---- one object ------------------------------------------------------------------------------ */

struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * list[2];
	size_t n[2];
	uintptr_t relro_from, relro_to;
};

static void read_dynamic(struct tables *t, uintptr_t base, const ElfW(Dyn) * d)
{
	for (; d->d_tag != DT_NULL; d++) {
		/* the loader has made addresses of these, but for the page of the kernel */
		uintptr_t p = d->d_un.d_ptr < base ? base + d->d_un.d_ptr : d->d_un.d_ptr;

		switch (d->d_tag) {
		case DT_SYMTAB:
			t->symbols = (const void *)p;
			break;
		case DT_STRTAB:
			t->names = (const void *)p;
			break;
		case DT_RELA:
			t->list[0] = (const void *)p;
			break;
		case DT_RELASZ:
			t->n[0] = d->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_JMPREL:
			t->list[1] = (const void *)p;
			break;
		case DT_PLTRELSZ:
			t->n[1] = d->d_un.d_val / sizeof(ElfW(Rela));
			break;
		default:
			break;
		}
	}
}

/* Who has loaded a library asks for its functions next: before dlsym() we look for what is new.
 * It is reached by a jump, since its answer depends on who has called it. */
#if defined(__x86_64__)
extern char rama_cap_attach_dlsym[] __attribute__((visibility("hidden")));
void *(*rama_cap_attach_real)(void *, const char *)__attribute__((visibility("hidden"))) = dlsym;
__asm__(".pushsection .text\n"
	".globl rama_cap_attach_dlsym\n"
	".hidden rama_cap_attach_dlsym\n"
	".type rama_cap_attach_dlsym, @function\n"
	"rama_cap_attach_dlsym:\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	sub $8, %rsp\n"
	"	call rama_cap_attach_again\n"
	"	add $8, %rsp\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	jmp *rama_cap_attach_real(%rip)\n"
	".size rama_cap_attach_dlsym, . - rama_cap_attach_dlsym\n"
	".popsection\n");
#endif

/* What stands in a slot from now on; 0: it is none of ours. */
static uintptr_t ours(const char *name)
{
	uintptr_t f = name[0] ? (uintptr_t)dlsym(us.self, name) : 0;

#if defined(__x86_64__)
	if (strcmp(name, "dlsym") == 0)
		return (uintptr_t)rama_cap_attach_dlsym;
#endif
	return f >= us.from && f < us.to ? f : 0;
}

/* Where the loader has made a table read-only it is so again afterwards. */
static bool store(const struct tables *t, uintptr_t *at, uintptr_t value)
{
	uintptr_t page = (uintptr_t)at & ~(uintptr_t)4095;
	bool sealed = (uintptr_t)at >= t->relro_from && (uintptr_t)at < t->relro_to;

	if (sealed && rama_cap_sys3(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE) != 0)
		return false;
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
	if (sealed)
		rama_cap_sys3(SYS_mprotect, page, 4096, PROT_READ);
	return true;
}

static void change(const struct tables *t, uintptr_t base, const ElfW(Rela) * r)
{
	long type = (long)(r->r_info & 0xffffffff);
	const ElfW(Sym) *s = &t->symbols[r->r_info >> 32];
	uintptr_t *at = (uintptr_t *)(base + r->r_offset), f, was;

	if ((type != SLOT_CALL && type != SLOT_DATA) || s->st_shndx != SHN_UNDEF || us.n == MOST)
		return;
	f = ours(t->names + s->st_name);
	was = __atomic_load_n(at, __ATOMIC_RELAXED);
	/* a weak one that nobody has is asked for by its being nowhere */
	if (!f || was == f || was == 0)
		return;
	if (store(t, at, f))
		us.slot[us.n++] = (struct slot){ at, was };
}

static bool is_of_system(const char *name)
{
	const char *base = strrchr(name, '/');

	base = base ? base + 1 : name;
	return strncmp(base, "ld-linux", 8) == 0 || strncmp(base, "libc.so", 7) == 0 ||
	       strncmp(base, "linux-vdso", 10) == 0 || strncmp(base, "libiorama", 9) == 0;
}

static int each(struct dl_phdr_info *info, size_t size, void *unused)
{
	struct tables t = { 0 };
	const ElfW(Dyn) *dynamic = NULL;

	(void)size;
	(void)unused;
	us.seen = info->dlpi_adds;
	if (is_of_system(info->dlpi_name))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_DYNAMIC)
			dynamic = (const void *)(info->dlpi_addr + p->p_vaddr);
		if (p->p_type == PT_GNU_RELRO) {
			t.relro_from = (info->dlpi_addr + p->p_vaddr) & ~(uintptr_t)4095;
			t.relro_to = info->dlpi_addr + p->p_vaddr + p->p_memsz;
		}
	}
	if (!dynamic)
		return 0;
	read_dynamic(&t, info->dlpi_addr, dynamic);
	for (unsigned k = 0; k < 2 && t.symbols && t.names; k++)
		for (size_t i = 0; t.list[k] && i < t.n[k]; i++)
			change(&t, info->dlpi_addr, &t.list[k][i]);
	return 0;
}

static int first_only(struct dl_phdr_info *info, size_t size, void *adds)
{
	(void)size;
	*(unsigned long long *)adds = info->dlpi_adds;
	return 1;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int find_self(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && (uintptr_t)find_self >= from &&
		    (uintptr_t)find_self < from + p->p_memsz) {
			us.from = from;
			us.to = from + p->p_memsz;
			us.self = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
			return 1;
		}
	}
	return 0;
}

/* Libraries that came since get our functions, too. Asked where a function of one is asked for, and
 * where files are opened, for those that were loaded for their constructors. */
void rama_cap_attach_again(void)
{
	unsigned long long adds = 0;
	int saved = errno;

	if (!rama_cap_attached || rama_cap_sys3(SYS_getpid, 0, 0, 0) != rama_cap_run.pid)
		return; /* between vfork and exec nothing is changed */
	dl_iterate_phdr(first_only, &adds);
	if (adds != us.seen && !__atomic_exchange_n(&us.busy, true, __ATOMIC_ACQUIRE)) {
		dl_iterate_phdr(each, NULL);
		__atomic_store_n(&us.busy, false, __ATOMIC_RELEASE);
	}
	errno = saved;
}

/* settings: NAME=value texts, one after the other, an empty one at the end. How many slots are
 * ours; negative: -1 it is not wanted or cannot be, -2 it is there already, -3 it has been since
 * the process began. */
RAMA_CAP_EXPORT int iorama_attach(const char *settings)
{
	size_t n = 0;

	if (!rama_cap_attach_is())
		return -3;
	if (rama_cap_attached)
		return -2;
	while (settings[n] && n < sizeof(us.settings) - 2)
		n += strlen(settings + n) + 1;
	if (n > sizeof(us.settings) - 2)
		return -1;
	memcpy(us.settings, settings, n);
	us.settings[n] = '\0';
	if (!us.slot)
		us.slot = rama_cap_memory_own(MOST * sizeof(*us.slot));
	if (!us.slot || (!us.self && !dl_iterate_phdr(find_self, NULL)) || !us.self ||
	    !rama_cap_begin_attached())
		return -1;
	us.n = 0;
	rama_cap_mpi_launched();
	rama_cap_attached = true;
	rama_cap_hooks_begin(); /* first: it knows whether this is a server */
	dl_iterate_phdr(each, NULL);
	return (int)us.n;
}

static int one_back(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct tables t = { 0 };
	uintptr_t from = UINTPTR_MAX, to = 0;

	(void)size;
	(void)ctx;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && at < from)
			from = at;
		if (p->p_type == PT_LOAD && at + p->p_memsz > to)
			to = at + p->p_memsz;
		if (p->p_type == PT_GNU_RELRO) {
			t.relro_from = at & ~(uintptr_t)4095;
			t.relro_to = at + p->p_memsz;
		}
	}
	/* those of objects that are gone are nobody's */
	for (unsigned i = 0; i < us.n; i++) {
		struct slot *s = &us.slot[i];
		uintptr_t now;

		if ((uintptr_t)s->at < from || (uintptr_t)s->at >= to)
			continue;
		now = __atomic_load_n(s->at, __ATOMIC_RELAXED);
		if (now >= us.from && now < us.to)
			store(&t, s->at, s->was);
	}
	return 0;
}

/* "SEGMENT\nDIRECTORY": where the log of all processes of the job is to go */
static const char *told_segment(void)
{
	static char text[sizeof(rama_cap_run.path) + sizeof(rama_cap_run.settings->log_dir) + 2];
	struct rama_config_text t;

	rama_config_text_init(&t, text, sizeof(text));
	rama_config_text_str(&t, rama_cap_run.path);
	rama_config_text_str(&t, "\n");
	rama_config_text_str(&t, rama_cap_run.settings->log_dir);
	return rama_cap_run.path[0] && !t.cut ? text : NULL;
}

/* The log that was written, or NULL; (const char *)1: we were not there. Of a process of a job that
 * makes one log: told_segment(). */
RAMA_CAP_EXPORT const char *iorama_detach(void)
{
	if (!rama_cap_attached)
		return (const char *)1;
	rama_cap_attached = false;
	rama_cap_hooks_end();
	dl_iterate_phdr(one_back, NULL);
	rama_cap_end_attached();
	return rama_cap_run.bare ? rama_cap_log_written() : told_segment();
}
#endif
