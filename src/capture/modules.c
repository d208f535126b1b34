/* SPDX-License-Identifier: BSD-3-Clause */
/* modules.c: which program or library an address lies in. The loader's own list is walked, without
 * its lock: who asks may be anywhere, also in a handler that interrupted the loader. So every
 * byte is asked of the kernel (process_vm_readv of ourselves, or /proc/self/mem), which refuses
 * where another would fault, and nothing that comes back is trusted. */
#include "capture/sites.h"

#if defined(__x86_64__) && !defined(RAMA_STATIC_WRAP)
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>

enum {
	MODULES = 512,
	HEADERS_MOST = 64,
	NOTES_MOST = 32,
	DYNAMIC_MOST = 256, /* entries of the loader's table */
	SYMBOL_MOST = 64,   /* bytes of a name that is looked for, with its NUL */
	CHAIN_MOST = 4096
};

static struct rama_cap_module *modules; /* own memory, as it is used */
static unsigned n_modules;

/* A filter of system calls that was there before us may end us for a call that programs seldom
 * make: what it lets through is opening and reading files. */
static bool read_by_file(uint64_t at, void *to, size_t n)
{
	int fd = rama_cap_sys_open("/proc/self/mem", O_RDONLY, 0);
	long got = -1;

	if (fd < 0)
		return false;
	got = rama_cap_sys6(SYS_pread64, fd, (long)to, (long)n, (long)at, 0, 0);
	rama_cap_sys_close(fd);
	return got == (long)n;
}

bool rama_cap_module_read(void *ctx, uint64_t at, void *to, size_t n)
{
	const struct iovec here = { to, n }, there = { (void *)(uintptr_t)at, n };

	(void)ctx;
	if (rama_cap_run.filtered)
		return read_by_file(at, to, n);
	return rama_cap_sys6(SYS_process_vm_readv, rama_cap_run.pid, (long)&here, 1, (long)&there,
			     1, 0) == (long)n;
}

static bool get(uint64_t at, void *to, size_t n)
{
	return rama_cap_module_read(NULL, at, to, n);
}

/* ---- one of them ----------------------------------------------------------------------------- */

/* a text of up to room - 1 bytes, page by page; false: it is longer, or not there */
static bool get_text(uint64_t at, char *to, size_t room)
{
	size_t have = 0;

	while (have < room) {
		size_t n = RAMA_SEG_PAGE - ((at + have) & (RAMA_SEG_PAGE - 1));

		n = n < room - have ? n : room - have;
		if (!get(at + have, to + have, n))
			return false;
		if (memchr(to + have, '\0', n))
			return true;
		have += n;
	}
	return false;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* what Python loads to be called by it: whose line it is Python knows */
static bool is_extension(const char *path)
{
	return strstr(path, "/site-packages/") || strstr(path, "/dist-packages/") ||
	       strstr(path, "/lib-dynload/") || strstr(base_of(path), ".cpython-") ||
	       strstr(base_of(path), ".abi3.so");
}

static bool is_plumbing(const char *path)
{
	static const char *const known[] = {
#define PLUMBING(name) name,
#include "table/plumbing.def"
#undef PLUMBING
	};
	const char *base = base_of(path);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(base, known[i], strlen(known[i])) == 0)
			return true;
	return is_extension(path);
}

static void find_build(struct rama_cap_module *m, uint64_t at, uint64_t size)
{
	ElfW(Nhdr) n;

	for (unsigned i = 0; i < NOTES_MOST && size >= sizeof(n) && get(at, &n, sizeof(n)); i++) {
		uint64_t name = (n.n_namesz + 3ull) & ~3ull, desc = (n.n_descsz + 3ull) & ~3ull,
			 all = sizeof(n) + name + desc;
		char owner[4];

		if (all > size)
			return;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz > 0 &&
		    n.n_descsz <= sizeof(m->build) && get(at + sizeof(n), owner, 4) &&
		    memcmp(owner, "GNU", 4) == 0 &&
		    get(at + sizeof(n) + name, m->build, n.n_descsz)) {
			m->build_at = at + sizeof(n) + name;
			m->n_build = (uint8_t)n.n_descsz;
			return;
		}
		at += all;
		size -= all;
	}
}

static bool see_headers(struct rama_cap_module *m, uint64_t at, unsigned n)
{
	for (unsigned i = 0; i < n && i < HEADERS_MOST; i++) {
		ElfW(Phdr) p;
		uintptr_t from, to;

		if (!get(at + i * sizeof(p), &p, sizeof(p)))
			return false;
		from = m->bias + p.p_vaddr;
		to = from + p.p_memsz;
		if (p.p_type == PT_LOAD && to > from) {
			m->from = m->from == 0 || from < m->from ? from : m->from;
			m->to = to > m->to ? to : m->to;
		} else if (p.p_type == PT_GNU_EH_FRAME) {
			m->tables = from;
		} else if (p.p_type == PT_DYNAMIC) {
			m->dynamic = from;
		} else if (p.p_type == PT_NOTE && m->n_build == 0) {
			find_build(m, from, p.p_memsz);
		}
	}
	return m->to > m->from;
}

static bool see_library(struct rama_cap_module *m)
{
	ElfW(Ehdr) e;

	return get(m->bias, &e, sizeof(e)) && memcmp(e.e_ident, ELFMAG, SELFMAG) == 0 &&
	       e.e_ident[EI_CLASS] == ELFCLASS64 && e.e_phentsize == sizeof(ElfW(Phdr)) &&
	       see_headers(m, m->bias + e.e_phoff, e.e_phnum);
}

static void set_path(struct rama_cap_module *m, const char *path)
{
	size_t n = strnlen(path, sizeof(m->path));

	if (n == sizeof(m->path)) { /* its end is better than nothing, and cannot be mistaken */
		path = strrchr(path, '/');
		n = path ? strnlen(path + 1, sizeof(m->path)) : n;
		path = n < sizeof(m->path) ? path + 1 : "?";
		n = n < sizeof(m->path) ? n : 1;
	}
	memcpy(m->path, path, n);
	m->path[n] = '\0';
}

static bool is_interpreter(const struct rama_cap_module *m)
{
	const char *base = base_of(m->path);

	return (strncmp(base, "python", 6) == 0 || strncmp(base, "libpython", 9) == 0) &&
	       rama_cap_python_met(m);
}

/* an entry of the loader's list; the first is the program itself */
static bool see_entry(struct rama_cap_module *m, const struct link_map *l, bool first)
{
	*m = (struct rama_cap_module){ .bias = l->l_addr, .turn = rama_cap_run.site_turn };
	if (first) {
		set_path(m, rama_cap_run.id->exe);
		if (!see_headers(m, getauxval(AT_PHDR), (unsigned)getauxval(AT_PHNUM)))
			return false;
	} else {
		if (!get_text((uintptr_t)l->l_name, m->path, sizeof(m->path)) || !see_library(m))
			return false;
		m->plumbing = is_plumbing(m->path);
	}
	m->python = is_interpreter(m);
	m->plumbing = m->plumbing || m->python;
	return true;
}

/* ---- what it shows to others ----------------------------------------------------------------- */

struct symbols {
	uint64_t hash, names, symbols; /* DT_GNU_HASH, DT_STRTAB, DT_SYMTAB */
};

/* The loader has made addresses of these, but not every loader does. */
static bool find_symbols(const struct rama_cap_module *m, struct symbols *to)
{
	*to = (struct symbols){ .hash = 0 };
	for (unsigned i = 0; i < DYNAMIC_MOST && m->dynamic != 0; i++) {
		ElfW(Dyn) d;
		uint64_t at;

		if (!get(m->dynamic + i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
			break;
		at = d.d_un.d_ptr < m->from ? m->bias + d.d_un.d_ptr : d.d_un.d_ptr;
		if (d.d_tag == DT_GNU_HASH)
			to->hash = at;
		else if (d.d_tag == DT_STRTAB)
			to->names = at;
		else if (d.d_tag == DT_SYMTAB)
			to->symbols = at;
	}
	return to->hash != 0 && to->names != 0 && to->symbols != 0;
}

static bool is_symbol(const struct symbols *s, uint32_t i, const char *name, uint64_t *value)
{
	char text[SYMBOL_MOST];
	ElfW(Sym) sym;

	if (!get(s->symbols + (uint64_t)i * sizeof(sym), &sym, sizeof(sym)) ||
	    sym.st_shndx == SHN_UNDEF || !get(s->names + sym.st_name, text, strlen(name) + 1) ||
	    memcmp(text, name, strlen(name) + 1) != 0)
		return false;
	*value = sym.st_value;
	return true;
}

uint64_t rama_cap_module_symbol(const struct rama_cap_module *m, const char *name)
{
	struct symbols s;
	uint32_t head[4], bucket = 0, link = 0, hash = 5381; /* buckets, first, words, shift */
	uint64_t at, value;

	if (strlen(name) >= SYMBOL_MOST || !find_symbols(m, &s) ||
	    !get(s.hash, head, sizeof(head)) || head[0] == 0)
		return 0;
	for (const char *p = name; *p; p++)
		hash = hash * 33 + (unsigned char)*p;
	at = s.hash + sizeof(head) + 8ull * head[2];
	if (!get(at + 4ull * (hash % head[0]), &bucket, sizeof(bucket)) || bucket < head[1])
		return 0;
	at += 4ull * head[0];
	for (uint32_t i = bucket; i - bucket < CHAIN_MOST; i++) {
		if (!get(at + 4ull * (i - head[1]), &link, sizeof(link)))
			return 0;
		if ((link | 1) == (hash | 1) && is_symbol(&s, i, name, &value))
			return m->bias + value;
		if (link & 1)
			return 0;
	}
	return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool holds(const struct rama_cap_module *m, uintptr_t at)
{
	return at >= m->from && at < m->to;
}

/* The memory of what was closed may have become another's: is it the same as when it was met? */
static bool is_there(struct rama_cap_module *m)
{
	unsigned char build[RAMA_CAP_MODULE_BUILD];

	if (m->turn == rama_cap_run.site_turn)
		return true;
	if (m->n_build == 0 || !get(m->build_at, build, m->n_build) ||
	    memcmp(build, m->build, m->n_build) != 0)
		return false;
	m->turn = rama_cap_run.site_turn;
	return true;
}

static struct rama_cap_module *find(uintptr_t at)
{
	for (unsigned i = 0; i < n_modules; i++) {
		if (!holds(&modules[i], at))
			continue;
		if (is_there(&modules[i]))
			return &modules[i];
		modules[i].from = modules[i].to = 0;
	}
	return NULL;
}

static void add(const struct link_map *l, bool first)
{
	struct rama_cap_module *m = &modules[n_modules];
	unsigned i = 0;

	if (!see_entry(m, l, first))
		return;
	while (i < n_modules && (modules[i].from != m->from || modules[i].to != m->to))
		i++;
	if (i < n_modules)
		modules[i] = *m;
	else
		n_modules++;
}

extern struct r_debug _r_debug __attribute__((weak, visibility("default")));

static bool is_met(const struct link_map *l)
{
	for (unsigned i = 0; i < n_modules; i++)
		if (modules[i].to > 0 && modules[i].bias == l->l_addr &&
		    modules[i].turn == rama_cap_run.site_turn)
			return true;
	return false;
}

static void meet(void)
{
	uint64_t at = &_r_debug ? (uintptr_t)_r_debug.r_map : 0;

	if (!modules)
		modules = rama_cap_memory_own((MODULES + 1) * sizeof(*modules));
	for (unsigned i = 0; modules && i < MODULES && at && n_modules < MODULES; i++) {
		struct link_map l;

		if (!get(at, &l, offsetof(struct link_map, l_prev) + sizeof(l.l_prev)))
			return;
		if (!is_met(&l))
			add(&l, i == 0);
		at = (uintptr_t)l.l_next;
	}
}

void rama_cap_modules_forget(void)
{
	n_modules = 0;
	rama_cap_python_forget();
}

const struct rama_cap_module *rama_cap_module_of(uintptr_t at)
{
	struct rama_cap_module *m = modules ? find(at) : NULL;

	if (!m) {
		meet();
		m = modules ? find(at) : NULL;
	}
	return m;
}
#endif
