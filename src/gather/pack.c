/* SPDX-License-Identifier: BSD-3-Clause */
#include "gather/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MAGIC 0x0a1a6b6361706f69ull
#define ENTRY 0x7972746e656f6921ull
#define VERSION 1
#define KNOWN_MOST 32768 /* as far back as deflate looks */
#define LINE 64		 /* bytes; so many zeros are left out */
#define NAME_MOST 255
#define SIZE_MOST (1ull << 40) /* of a segment, with its holes */
#define PAGE 4096

struct head {
	uint64_t magic;
	uint32_t version;
	uint32_t n_known, crc, pad;
};

struct entry {
	uint64_t magic;
	uint64_t size;	 /* of the segment */
	uint32_t plain;	 /* bytes before they were packed */
	uint32_t packed; /* bytes that follow the name */
	uint32_t name;	 /* bytes of the name, without a NUL */
	uint32_t crc;	 /* of the packed bytes */
};

struct extent {
	uint64_t off, len;
};

/* ---- packing --------------------------------------------------------------------------------- */

int rama_gather_pack_create(struct rama_gather_pack *p, const char *dir, struct rama_err *e)
{
	char path[PATH_MAX];

	*p = (struct rama_gather_pack){ .fd = -1 };
	if (snprintf(path, sizeof(path), "%s/" RAMA_GATHER_PACK, dir) >= (int)sizeof(path))
		return rama_err_set(e, RAMA_EIO, "%s: the path is too long", dir);
	p->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return p->fd >= 0 ? 0 : rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
}

void rama_gather_pack_close(struct rama_gather_pack *p)
{
	if (p->fd >= 0)
		close(p->fd);
	free(p->known);
	free(p->plain);
	*p = (struct rama_gather_pack){ .fd = -1 };
}

static bool room_for(struct rama_gather_pack *p, size_t n)
{
	unsigned char *more;
	size_t room = p->room == 0 ? 65536 : p->room;

	if (n > RAMA_GATHER_PACK_MOST + 65536)
		return false;
	while (room < n)
		room *= 2;
	if (room == p->room)
		return true;
	more = realloc(p->plain, room);
	if (more == NULL)
		return false;
	p->plain = more;
	p->room = room;
	return true;
}

/* what is not zero, while it is collected: extents first, their bytes behind them when all are
 * known */
struct collect {
	struct rama_gather_pack *p;
	struct extent *extent;
	size_t n, room;
	size_t bytes; /* in p->plain */
};

static int add_line(struct collect *c, uint64_t off, const unsigned char *line)
{
	struct extent *last = c->n > 0 ? &c->extent[c->n - 1] : NULL;

	if (last == NULL || last->off + last->len != off) {
		if (c->n == c->room) {
			size_t room = c->room == 0 ? 64 : 2 * c->room;
			struct extent *more = realloc(c->extent, room * sizeof(*more));

			if (more == NULL)
				return RAMA_EMEMORY;
			c->extent = more;
			c->room = room;
		}
		last = &c->extent[c->n++];
		*last = (struct extent){ .off = off };
	}
	if (!room_for(c->p, c->bytes + LINE))
		return RAMA_ELIMIT;
	memcpy(c->p->plain + c->bytes, line, LINE);
	c->bytes += LINE;
	last->len += LINE;
	return 0;
}

static int add_page(struct collect *c, uint64_t off, const unsigned char *page, size_t n)
{
	static const unsigned char zero[LINE];
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i += LINE)
		if (memcmp(page + i, zero, LINE) != 0)
			rc = add_line(c, off + i, page + i);
	return rc;
}

/* Holes are skipped: most of the file is one. */
static int collect(struct collect *c, int fd, uint64_t size)
{
	off_t at = 0;
	int rc = 0;

	while (rc == 0 && (at = lseek(fd, at, SEEK_DATA)) >= 0 && (uint64_t)at < size) {
		off_t end = lseek(fd, at, SEEK_HOLE);

		for (; at < end && rc == 0; at += PAGE) {
			unsigned char page[PAGE] = { 0 };
			ssize_t got = pread(fd, page, sizeof(page), at);

			if (got < 0)
				rc = RAMA_EIO;
			else
				rc = add_page(c, (uint64_t)at, page, sizeof(page));
		}
	}
	return rc;
}

/* extents and bytes as one piece in p->plain: number, extents, bytes */
static int join(struct collect *c, size_t *n)
{
	size_t head = 8 + c->n * sizeof(struct extent);
	uint64_t count = c->n;

	if (!room_for(c->p, head + c->bytes))
		return RAMA_ELIMIT;
	memmove(c->p->plain + head, c->p->plain, c->bytes);
	memcpy(c->p->plain, &count, 8);
	if (c->n > 0)
		memcpy(c->p->plain + 8, c->extent, c->n * sizeof(struct extent));
	*n = head + c->bytes;
	return 0;
}

static int write_at(int fd, const void *bytes, size_t n, uint64_t off)
{
	const char *p = bytes;

	while (n > 0) {
		ssize_t done = pwrite(fd, p, n, (off_t)off);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return RAMA_EIO;
		p += done;
		off += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

/* The first one is what later ones are compared with. */
static int begin(struct rama_gather_pack *p, size_t n)
{
	struct head h = { .magic = MAGIC, .version = VERSION };
	int rc;

	p->n_known = n < KNOWN_MOST ? n : KNOWN_MOST;
	p->known = malloc(p->n_known + 1);
	if (p->known == NULL)
		return RAMA_EMEMORY;
	memcpy(p->known, p->plain, p->n_known);
	h.n_known = (uint32_t)p->n_known;
	h.crc = (uint32_t)crc32(0, p->known, (uInt)p->n_known);
	rc = write_at(p->fd, &h, sizeof(h), 0);
	if (rc == 0)
		rc = write_at(p->fd, p->known, p->n_known, sizeof(h));
	if (rc == 0) {
		p->end = sizeof(h) + p->n_known;
		return 0;
	}
	free(p->known);
	p->known = NULL;
	return rc;
}

static int squeeze(struct rama_gather_pack *p, size_t n, unsigned char *to, uLong *room)
{
	z_stream z = {
		.next_in = p->plain, .avail_in = (uInt)n, .next_out = to, .avail_out = (uInt)*room
	};
	int rc;

	if (deflateInit(&z, 6) != Z_OK)
		return RAMA_EMEMORY;
	rc = deflateSetDictionary(&z, p->known, (uInt)p->n_known);
	if (rc == Z_OK)
		rc = deflate(&z, Z_FINISH);
	*room = z.total_out;
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : RAMA_EMEMORY;
}

static int append(struct rama_gather_pack *p, uint64_t size, size_t n, const char *name)
{
	struct entry h = {
		.magic = ENTRY, .size = size, .plain = (uint32_t)n, .name = (uint32_t)strlen(name)
	};
	size_t before = sizeof(h) + h.name;
	uLong room = deflateBound(NULL, (uLong)n) + 64;
	unsigned char *all = malloc(before + room);
	int rc = all == NULL ? RAMA_EMEMORY : squeeze(p, n, all + before, &room);

	if (rc == 0) {
		h.packed = (uint32_t)room;
		h.crc = (uint32_t)crc32(0, all + before, (uInt)room);
		memcpy(all, &h, sizeof(h));
		memcpy(all + sizeof(h), name, h.name);
		rc = write_at(p->fd, all, before + room, p->end);
	}
	if (rc == 0)
		p->end += before + room;
	free(all);
	return rc;
}

int rama_gather_pack_add(struct rama_gather_pack *p, int fd, const char *name, struct rama_err *e)
{
	struct collect c = { .p = p };
	struct stat st;
	size_t n;
	int rc;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || strlen(name) > NAME_MOST ||
	    (uint64_t)st.st_size > SIZE_MOST)
		return rama_err_set(e, RAMA_EFORMAT, "%s: is no segment", name);
	if ((uint64_t)st.st_blocks * 512 > RAMA_GATHER_PACK_MOST)
		return rama_err_set(e, RAMA_ELIMIT, "%s: is too large to be packed", name);
	rc = collect(&c, fd, (uint64_t)st.st_size);
	if (rc == 0)
		rc = join(&c, &n);
	free(c.extent);
	if (rc == 0 && p->known == NULL)
		rc = begin(p, n);
	if (rc == 0)
		rc = append(p, (uint64_t)st.st_size, n, name);
	if (rc != 0 && ftruncate(p->fd, (off_t)p->end) != 0)
		rc = RAMA_EIO; /* what is behind the end is not read */
	return rc == 0 ? 0 : rama_err_set(e, rc, "%s: cannot be packed", name);
}

/* ---- unpacking ------------------------------------------------------------------------------- */

static int bad(struct rama_err *e, const char *what)
{
	return rama_err_set(e, RAMA_ECORRUPT, "%s", what);
}

static int get(const struct rama_source *s, uint64_t off, void *to, size_t n, struct rama_err *e)
{
	if (off > s->size || n > s->size - off)
		return rama_err_set(e, RAMA_ETRUNC, "the pack ends early");
	return s->read(s->ctx, off, to, n, e);
}

/* *known: to be freed */
static int read_head(const struct rama_source *s, unsigned char **known, struct head *h,
		     struct rama_err *e)
{
	int rc = get(s, 0, h, sizeof(*h), e);

	*known = NULL;
	if (rc != 0)
		return rc;
	if (h->magic != MAGIC || h->version != VERSION || h->n_known > KNOWN_MOST)
		return bad(e, "is no pack of segments of this version");
	*known = malloc(h->n_known + 1u);
	if (*known == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "out of memory");
	rc = get(s, sizeof(*h), *known, h->n_known, e);
	if (rc == 0 && crc32(0, *known, h->n_known) != h->crc)
		rc = bad(e, "the pack is damaged at its beginning");
	if (rc != 0) {
		free(*known);
		*known = NULL;
	}
	return rc;
}

static int read_entry(const struct rama_source *s, uint64_t off, struct entry *h,
		      struct rama_err *e)
{
	int rc = get(s, off, h, sizeof(*h), e);

	if (rc != 0)
		return rc;
	if (h->magic != ENTRY || h->name > NAME_MOST || h->size > SIZE_MOST ||
	    h->plain > RAMA_GATHER_PACK_MOST + 65536 || h->packed > h->plain + 65536u)
		return bad(e, "the pack is damaged");
	return 0;
}

static int inflate_all(const unsigned char *in, uint32_t n_in, unsigned char *out, uint32_t n_out,
		       const unsigned char *known, uint32_t n_known)
{
	z_stream z = { .next_in = (unsigned char *)in,
		       .avail_in = n_in,
		       .next_out = out,
		       .avail_out = n_out };
	int rc;

	if (inflateInit(&z) != Z_OK)
		return RAMA_EMEMORY;
	rc = inflate(&z, Z_FINISH);
	if (rc == Z_NEED_DICT && inflateSetDictionary(&z, known, n_known) == Z_OK)
		rc = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	return rc == Z_STREAM_END && z.total_out == n_out ? 0 : RAMA_ECORRUPT;
}

static struct extent extent_at(const struct rama_gather_segment_file *f, uint64_t i)
{
	struct extent x;

	memcpy(&x, f->extent + i * sizeof(x), sizeof(x));
	return x;
}

/* Are the extents in order, within the file, and are all their bytes there? */
static bool extents_fit(struct rama_gather_segment_file *f, uint64_t plain)
{
	uint64_t end = 0, left;

	memcpy(&f->n, f->plain, 8);
	if (f->n > (plain - 8) / sizeof(struct extent))
		return false;
	f->extent = f->plain + 8;
	f->bytes = f->extent + f->n * sizeof(struct extent);
	left = plain - 8 - f->n * sizeof(struct extent);
	for (uint64_t i = 0; i < f->n; i++) {
		struct extent x = extent_at(f, i);

		if (x.off < end || x.len > left || x.off > SIZE_MOST)
			return false;
		end = x.off + x.len;
		left -= x.len;
	}
	return left == 0;
}

static int read_packed(void *ctx, uint64_t off, void *buf, size_t n, struct rama_err *e)
{
	const struct rama_gather_segment_file *f = ctx;
	const unsigned char *bytes = f->bytes;

	(void)e;
	memset(buf, 0, n);
	for (uint64_t i = 0; i < f->n; i++) {
		struct extent x = extent_at(f, i);
		uint64_t from = x.off > off ? x.off : off;
		uint64_t to = x.off + x.len < off + n ? x.off + x.len : off + n;

		if (x.off >= off + n)
			break;
		if (from < to)
			memcpy((char *)buf + (from - off), bytes + (from - x.off),
			       (size_t)(to - from));
		bytes += x.len;
	}
	return 0;
}

static int unpack(struct rama_gather_segment_file *f, const struct rama_source *s, uint64_t off,
		  const unsigned char *known, uint32_t n_known, struct rama_err *e)
{
	unsigned char *packed = NULL;
	struct entry h;
	int rc = read_entry(s, off, &h, e);

	if (rc == 0 && h.plain < 8)
		rc = bad(e, "the pack is damaged");
	if (rc != 0)
		return rc;
	packed = malloc(h.packed + 1u);
	f->plain = malloc(h.plain + 1u);
	if (packed == NULL || f->plain == NULL)
		rc = rama_err_set(e, RAMA_EMEMORY, "out of memory");
	if (rc == 0)
		rc = get(s, off + sizeof(h) + h.name, packed, h.packed, e);
	if (rc == 0 && (crc32(0, packed, h.packed) != h.crc ||
			inflate_all(packed, h.packed, f->plain, h.plain, known, n_known) != 0 ||
			!extents_fit(f, h.plain)))
		rc = bad(e, "the pack is damaged");
	free(packed);
	if (rc != 0) {
		free(f->plain);
		f->plain = NULL;
		return rc;
	}
	f->src = (struct rama_source){ .size = h.size, .read = read_packed, .ctx = f };
	f->packed = true;
	return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* PACK/OFFSET/NAME: where PACK ends, and the offset */
static bool split(const char *path, size_t *pack, uint64_t *off)
{
	static const char name[] = "/" RAMA_GATHER_PACK;
	const char *last = strrchr(path, '/'), *p = last;

	while (p != NULL && p > path && p[-1] >= '0' && p[-1] <= '9')
		p--;
	if (p == NULL || p == last || p == path || p[-1] != '/')
		return false;
	*pack = (size_t)(p - 1 - path);
	*off = strtoull(p, NULL, 10);
	return *pack >= strlen(name) &&
	       memcmp(path + *pack - strlen(name), name, strlen(name)) == 0;
}

bool rama_gather_is_packed(const char *path)
{
	uint64_t off;
	size_t n;

	return split(path, &n, &off);
}

static int open_pack(struct rama_file *f, const char *path, struct rama_err *e)
{
	struct stat st;

	if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return rama_err_set(e, RAMA_EMISSING, "is no pack of segments");
	return rama_file_open(f, path, e);
}

/* one that is packed: n bytes of the path are the pack's */
static int open_packed(struct rama_gather_segment_file *f, const char *path, size_t n, uint64_t off,
		       struct rama_err *e)
{
	unsigned char *known;
	char pack[PATH_MAX];
	struct head h;
	int rc;

	if (n >= sizeof(pack))
		return rama_err_set(e, RAMA_EIO, "the path is too long");
	memcpy(pack, path, n);
	pack[n] = '\0';
	rc = open_pack(&f->file, pack, e);
	if (rc != 0)
		return rc;
	rc = read_head(&f->file.src, &known, &h, e);
	if (rc == 0)
		rc = unpack(f, &f->file.src, off, known, h.n_known, e);
	free(known);
	rama_file_close(&f->file);
	return rc;
}

int rama_gather_file_open(struct rama_gather_segment_file *f, const char *path, struct rama_err *e)
{
	char packed[PATH_MAX];
	uint64_t off;
	size_t n;
	int rc;

	*f = (struct rama_gather_segment_file){ 0 };
	if (split(path, &n, &off))
		return open_packed(f, path, n, off, e);
	rc = rama_file_open(&f->file, path, e);
	f->src = f->file.src;
	/* it may have been taken in since it was found */
	if (rc == RAMA_EMISSING && rama_gather_find_packed(packed, path) &&
	    split(packed, &n, &off)) {
		*e = (struct rama_err){ 0 };
		rc = open_packed(f, packed, n, off, e);
	}
	return rc;
}

void rama_gather_file_close(struct rama_gather_segment_file *f)
{
	if (!f->packed)
		rama_file_close(&f->file);
	free(f->plain);
	f->plain = NULL;
}

int rama_gather_pack_list(struct rama_gather_list *list, const char *pack, struct rama_err *e)
{
	unsigned char *known;
	struct rama_err mine = { 0 };
	struct rama_file f;
	struct entry h;
	struct head head;
	uint64_t at;
	int rc = 0;

	if (open_pack(&f, pack, &mine) != 0)
		return 0;
	if (read_head(&f.src, &known, &head, &mine) != 0) {
		rama_file_close(&f);
		return 0;
	}
	free(known);
	for (at = sizeof(head) + head.n_known; rc == 0 && read_entry(&f.src, at, &h, &mine) == 0;) {
		char name[NAME_MOST + 1], dir[PATH_MAX];

		if (get(&f.src, at + sizeof(h), name, h.name, &mine) != 0 ||
		    h.packed > f.src.size - at - sizeof(h) - h.name)
			break;
		name[h.name] = '\0';
		if (strlen(name) == h.name && strchr(name, '/') == NULL &&
		    snprintf(dir, sizeof(dir), "%s/%llu", pack, (unsigned long long)at) <
			    (int)sizeof(dir))
			rc = rama_gather_list_add(list, dir, name);
		at += sizeof(h) + h.name + h.packed;
	}
	rama_file_close(&f);
	return rc == 0 ? 0 : rama_err_set(e, rc, "out of memory");
}

/* reads all of it that is near the beginning, in steps that meet extents at all sides */
static void read_some(struct rama_gather_segment_file *f)
{
	unsigned char page[PAGE];
	struct rama_err e;

	for (uint64_t off = 0; off < 16 * sizeof(page); off += sizeof(page) / 2)
		if (off + sizeof(page) <= f->src.size)
			f->src.read(f->src.ctx, off, page, sizeof(page), &e);
}

int rama_gather_pack_check(const unsigned char *bytes, size_t n)
{
	unsigned char *known;
	struct rama_source s;
	struct rama_err e = { 0 };
	struct entry h;
	struct head head;
	int good = 0;

	rama_source_memory(&s, bytes, n);
	if (read_head(&s, &known, &head, &e) != 0)
		return 0;
	for (uint64_t at = sizeof(head) + head.n_known; read_entry(&s, at, &h, &e) == 0;
	     at += sizeof(h) + h.name + h.packed) {
		struct rama_gather_segment_file f = { 0 };

		if (unpack(&f, &s, at, known, head.n_known, &e) != 0)
			continue;
		read_some(&f);
		free(f.plain);
		good++;
	}
	free(known);
	return good;
}

bool rama_gather_pack_check_plain(const unsigned char *plain, size_t n, uint64_t size)
{
	struct rama_gather_segment_file f = { .plain = malloc(n + 1) };
	bool ok = false;

	if (f.plain != NULL && n >= 8) {
		memcpy(f.plain, plain, n);
		ok = extents_fit(&f, n);
	}
	f.src = (struct rama_source){ .size = size, .read = read_packed, .ctx = &f };
	if (ok)
		read_some(&f);
	free(f.plain);
	return ok;
}
