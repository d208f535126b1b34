/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/code/elf.h"

#include <elf.h>
#include <string.h>

#if __SIZEOF_POINTER__ == 8
#define OUR_CLASS ELFCLASS64
typedef Elf64_Ehdr ehdr;
typedef Elf64_Phdr phdr;
typedef Elf64_Dyn dyn;
#else
#define OUR_CLASS ELFCLASS32
typedef Elf32_Ehdr ehdr;
typedef Elf32_Phdr phdr;
typedef Elf32_Dyn dyn;
#endif
typedef Elf32_Nhdr nhdr; /* the same for both */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_ORDER ELFDATA2LSB
#else
#define OUR_ORDER ELFDATA2MSB
#endif

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE /* not checked */
#endif

#define WINDOW 768   /* bytes that are read at a time */
#define PARTS 128    /* program headers */
#define LOADS 8	     /* parts that are mapped */
#define ENTRIES 1024 /* of the dynamic section */
#define NEEDED 256   /* libraries */
#define NOTES 64

/* a file, and the piece of it that was read last */
struct look {
	const struct rama_elf_bytes *from;
	uint64_t off;
	size_t n;
	unsigned char window[WINDOW];
	struct {
		uint64_t at, off, len;
	} load[LOADS];
	unsigned n_loads;
	uint64_t interp, interp_len, dynamic, dynamic_len;
	bool has_interp, has_note;
};

static const struct {
	const char *key, *one, *many;
} reasons[] = {
	{ "", "left no data", "" },
#define UNSEEN(name, key, one, many) { key, one, many },
#include "base/code/unseen.def"
#undef UNSEEN
};

const char *rama_unseen_key(enum rama_unseen why)
{
	return reasons[why < RAMA_UNSEEN_REASONS ? why : RAMA_UNSEEN_OTHER].key;
}

const char *rama_unseen_one(enum rama_unseen why)
{
	return reasons[why < RAMA_UNSEEN_REASONS ? why : RAMA_UNSEEN_OTHER].one;
}

const char *rama_unseen_many(enum rama_unseen why)
{
	return reasons[why < RAMA_UNSEEN_REASONS ? why : RAMA_UNSEEN_OTHER].many;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

/* How many of the n bytes at off are in the window now, and where; n is at most WINDOW. */
static size_t see(struct look *k, uint64_t off, size_t n, const unsigned char **at)
{
	if (off < k->off || off - k->off > k->n || k->n - (off - k->off) < n) {
		long got = k->from->read(k->from->ctx, off, k->window, WINDOW);

		k->off = off;
		k->n = got > 0 ? (size_t)got < WINDOW ? (size_t)got : WINDOW : 0;
	}
	*at = k->window + (off - k->off);
	return k->n - (size_t)(off - k->off);
}

static bool get(struct look *k, uint64_t off, void *to, size_t n)
{
	const unsigned char *at;

	if (off > UINT64_MAX / 2 || see(k, off, n, &at) < n)
		return false;
	memcpy(to, at, n);
	return true;
}

/* a text that ends within its file and `size` bytes */
static bool get_text(struct look *k, uint64_t off, char *to, size_t size)
{
	const unsigned char *at, *end;
	size_t n;

	if (off > UINT64_MAX / 2)
		return false;
	n = see(k, off, size, &at);
	end = memchr(at, '\0', n < size ? n : size);
	if (end == NULL)
		return false;
	memcpy(to, at, (size_t)(end - at) + 1);
	return true;
}

/* where a mapped address is in the file; UINT64_MAX: nowhere */
static uint64_t place_of(const struct look *k, uint64_t address)
{
	for (unsigned i = 0; i < k->n_loads; i++)
		if (address >= k->load[i].at && address - k->load[i].at < k->load[i].len)
			return k->load[i].off + (address - k->load[i].at);
	return UINT64_MAX;
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool begins(const char *text, size_t n, const char *with)
{
	size_t len = strlen(with);

	return n >= len && memcmp(text, with, len) == 0;
}

static const char *last_part(const char *path, size_t *n)
{
	size_t start = *n;

	while (start > 0 && path[start - 1] != '/')
		start--;
	*n -= start;
	return path + start;
}

bool rama_elf_first(const char *name, size_t n)
{
	const char *base = last_part(name, &n);

#define LOADER(with, ours)
#define RUNTIME(with)              \
	if (begins(base, n, with)) \
		return true;
#include "base/code/loaders.def"
#undef LOADER
#undef RUNTIME
	return false;
}

/* 1: of our C library, 0: of another one, -1: not known */
static int loader(const char *path)
{
	size_t n = strlen(path);
	const char *base = last_part(path, &n);

#define LOADER(with, ours)         \
	if (begins(base, n, with)) \
		return ours;
#define RUNTIME(with)
#include "base/code/loaders.def"
#undef LOADER
#undef RUNTIME
	return -1;
}

/* ---- parts ---------------------------------------------------------------------------------- */

static void look_at_notes(struct look *k, uint64_t off, uint64_t len)
{
	for (unsigned i = 0; i < NOTES && len >= sizeof(nhdr); i++) {
		char owner[sizeof(RAMA_ELF_NOTE)];
		uint64_t size;
		nhdr h;

		if (!get(k, off, &h, sizeof(h)))
			return;
		size = sizeof(h) + (((uint64_t)h.n_namesz + 3) & ~3ull) +
		       (((uint64_t)h.n_descsz + 3) & ~3ull);
		if (h.n_namesz == sizeof(owner) && get(k, off + sizeof(h), owner, sizeof(owner)) &&
		    memcmp(owner, RAMA_ELF_NOTE, sizeof(owner)) == 0)
			k->has_note = true;
		if (size >= len)
			return;
		off += size;
		len -= size;
	}
}

static bool look_at_parts(struct look *k, const ehdr *h)
{
	if (h->e_phentsize != sizeof(phdr) || h->e_phnum == 0 || h->e_phnum > PARTS)
		return false;
	for (unsigned i = 0; i < h->e_phnum; i++) {
		phdr p;

		if (h->e_phoff > UINT64_MAX / 2 ||
		    !get(k, h->e_phoff + i * sizeof(p), &p, sizeof(p)))
			return false;
		if (p.p_type == PT_INTERP) {
			k->has_interp = true;
			k->interp = p.p_offset;
			k->interp_len = p.p_filesz;
		} else if (p.p_type == PT_DYNAMIC) {
			k->dynamic = p.p_offset;
			k->dynamic_len = p.p_filesz;
		} else if (p.p_type == PT_NOTE) {
			look_at_notes(k, p.p_offset, p.p_filesz);
		} else if (p.p_type == PT_LOAD && k->n_loads < LOADS) {
			k->load[k->n_loads].at = p.p_vaddr;
			k->load[k->n_loads].off = p.p_offset;
			k->load[k->n_loads++].len = p.p_filesz;
		}
	}
	return true;
}

/* entry i of the dynamic section; false: there are no more */
static bool entry(struct look *k, unsigned i, dyn *d)
{
	return (i + 1) * sizeof(*d) <= k->dynamic_len &&
	       get(k, k->dynamic + i * sizeof(*d), d, sizeof(*d)) && d->d_tag != DT_NULL;
}

/* Does it need our C library? And which library first? */
static bool look_at_needs(struct look *k, struct rama_elf *to)
{
	uint64_t texts = UINT64_MAX;
	unsigned found = 0;
	bool libc = false;
	dyn d;

	for (unsigned i = 0; i < ENTRIES && entry(k, i, &d); i++)
		if (d.d_tag == DT_STRTAB)
			texts = place_of(k, d.d_un.d_ptr);
	for (unsigned i = 0; texts < UINT64_MAX / 2 && i < ENTRIES && entry(k, i, &d); i++) {
		char name[RAMA_ELF_NAME];

		if (d.d_tag != DT_NEEDED)
			continue;
		if (found++ >= NEEDED)
			break;
		if (d.d_un.d_val > UINT32_MAX ||
		    !get_text(k, texts + d.d_un.d_val, name, sizeof(name)))
			continue;
		libc = libc || strcmp(name, "libc.so.6") == 0;
		if (to->first[0] == '\0' && rama_elf_first(name, strlen(name)))
			memcpy(to->first, name, sizeof(name));
	}
	return libc;
}

/* a name that a list of libraries can hold */
static bool is_plain(const char *name)
{
	for (; *name != '\0'; name++)
		if ((unsigned char)*name <= ' ' || *name == ':' || *name == 0x7f)
			return false;
	return true;
}

static enum rama_unseen without_interp(const struct look *k, const char *name)
{
	int known = name != NULL ? loader(name) : -1;

	if (known >= 0) /* /lib/ld-linux.so PROGRAM */
		return known ? RAMA_UNSEEN_NOT : RAMA_UNSEEN_LIBC;
	return k->has_note ? RAMA_UNSEEN_NOT : RAMA_UNSEEN_STATIC;
}

static void look_inside(struct look *k, struct rama_elf *to, const char *name)
{
	char path[256];
	bool libc;
	int ours;

	if (!k->has_interp) {
		to->why = without_interp(k, name);
		return;
	}
	if (k->interp_len > sizeof(path) || !get_text(k, k->interp, path, sizeof(path)))
		return; /* the system will not start it either */
	ours = loader(path);
	libc = look_at_needs(k, to);
	if (ours < 0)
		ours = libc;
	if (!ours)
		to->why = RAMA_UNSEEN_LIBC;
	if (!ours || !is_plain(to->first))
		to->first[0] = '\0';
}

void rama_elf_look(struct rama_elf *to, const struct rama_elf_bytes *from, const char *name)
{
	struct look k = { .from = from };
	unsigned char ident[EI_NIDENT];
	ehdr h;

	memset(to, 0, sizeof(*to));
	if (!get(&k, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return;
	to->is = true;
	if (ident[EI_CLASS] != OUR_CLASS)
		to->why = ident[EI_CLASS] == ELFCLASS32 ? RAMA_UNSEEN_BITS : RAMA_UNSEEN_MACHINE;
	else if (ident[EI_DATA] != OUR_ORDER)
		to->why = RAMA_UNSEEN_MACHINE;
	if (to->why != RAMA_UNSEEN_NOT || !get(&k, 0, &h, sizeof(h)))
		return;
	if (OUR_MACHINE != EM_NONE && h.e_machine != OUR_MACHINE)
		to->why = RAMA_UNSEEN_MACHINE;
	else if ((h.e_type == ET_EXEC || h.e_type == ET_DYN) && look_at_parts(&k, &h))
		look_inside(&k, to, name);
}
