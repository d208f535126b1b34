/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_fake.c: an HDF5 that only counts, for what the installed one is not: VERSION 8 has
 * identifiers of 32 bits, with rubbish in the upper half of the register, and lacks what came
 * later; VERSION 14 has what came later.
 *
 * Built as a library with -DVERSION=n, and as the program that uses it with -DPROGRAM too, or as
 * a plugin of hdf5_two.c with -DPLUGIN. The program ends with 1 if anything that was opened
 * stays open, or if what it gave did not arrive. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef int64_t hid;
typedef struct {
	uint8_t byte[16];
} token;

#if VERSION < 10
#define OUT(id) ((hid)((0xdeadull << 32) | (uint32_t)(id)))
#define IN(id) ((int)(id))
#define FILE_ID (1 << 24)
#define SET_ID (5 << 24)
#else
#define OUT(id) ((hid)(id))
#define IN(id) (id)
#define FILE_ID (1ll << 56)
#define SET_ID (5ll << 56)
#endif
#define SPACE_ID (FILE_ID + 100)
#define OTHER_ID (FILE_ID + 200) /* types and property lists */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define FILE_NAME "x" TEXT(VERSION) ".h5"
#define DRIVER (FILE_ID + 300)
#define META_ID (FILE_ID + 400) /* a group or an attribute */
#define META_US 20000		/* that a call of metadata takes */

/* what the library did */
struct fake {
	int open, bad; /* identifiers not closed; arguments that are not as they should be */
};
extern struct fake fake;

hid H5Fopen(const char *path, unsigned flags, hid fapl);
int H5Fclose(hid f);
hid H5Dopen1(hid at, const char *name);
int H5Dclose(hid d);
hid H5Gcreate2(hid at, const char *name, hid lcpl, hid gcpl, hid gapl);
hid H5Acreate2(hid at, const char *name, hid type, hid space, hid acpl, hid aapl);
int H5Awrite(hid attr, hid type, const void *buf);
int H5Lexists(hid at, const char *name, hid lapl);
int H5Dwrite(hid d, hid type, hid mem, hid file, hid dxpl, const void *buf);
hid H5Oopen_by_token(hid at, token t);
int H5Oclose(hid d);

#if defined(PROGRAM) || defined(PLUGIN)
static void want(FILE *to, const char *what, const char *counter, long long value)
{
	char cwd[1024];

	if (getcwd(cwd, sizeof(cwd)))
		fprintf(to, "TRUTH %.3s %s/%s %.3s_%s %lld\n", counter, cwd, what, counter,
			counter + 4, value);
}

static int use(void)
{
	FILE *to = fopen(getenv("TRUTH_FILE"), "a");
	hid f = H5Fopen(FILE_NAME, 7, OUT(OTHER_ID)), d = H5Dopen1(f, "x");

	/* of the file, of the dataset, of the file again, and one that fails */
	fake.bad += H5Gcreate2(f, "g", OUT(0), OUT(0), OUT(OTHER_ID)) != OUT(META_ID);
	fake.bad += H5Acreate2(d, "a", OUT(1), OUT(2), OUT(3), OUT(4)) != OUT(META_ID);
	fake.bad += H5Awrite(OUT(META_ID), OUT(1), &fake) != 0;
	fake.bad += H5Lexists(f, "none", OUT(0)) != -1;
	H5Dwrite(d, 1, OUT(0), OUT(0), OUT(0), &fake);
	H5Dwrite(d, 1, OUT(SPACE_ID), OUT(SPACE_ID), OUT(OTHER_ID), &fake);
	want(to, FILE_NAME, "H5F OPENS", 1);
	want(to, FILE_NAME, "H5F USE_MPIIO", VERSION > 8);
	want(to, FILE_NAME ":/x", "H5D WRITES", VERSION > 8 ? 3 : 2);
	want(to, FILE_NAME ":/x", "H5D DATASPACE_NDIMS", 1);
	want(to, FILE_NAME ":/x", "H5D DATASPACE_NPOINTS", 10);
	want(to, FILE_NAME ":/x", "H5D DATATYPE_SIZE", 8);
	want(to, FILE_NAME ":/x", "H5D USE_MPIIO_COLLECTIVE", VERSION > 8);
#if VERSION > 8
	H5Dclose(d);
	d = H5Oopen_by_token(f, (token){ "0123456789abcde" });
	H5Dwrite(d, 1, OUT(SPACE_ID), 2 /* the property list says it */, OUT(OTHER_ID), &fake);
	H5Oclose(d);
	want(to, FILE_NAME ":/x", "H5D OPENS", 2);
	want(to, FILE_NAME ":/x", "H5D BYTES_WRITTEN", (10 + 3 + 3) * 8);
	want(to, FILE_NAME ":/x", "H5D REGULAR_HYPERSLAB_SELECTS", 1);
	want(to, FILE_NAME ":/x", "H5D SIZE_WRITE_AGG_0_100", 3);
#else
	H5Dclose(d);
	want(to, FILE_NAME ":/x", "H5D OPENS", 1);
	want(to, FILE_NAME ":/x", "H5D USE_DEPRECATED", 1);
	want(to, FILE_NAME ":/x", "H5D BYTES_WRITTEN", (10 + 3) * 8);
	want(to, FILE_NAME ":/x", "H5D FLUSHES", -1);
	want(to, FILE_NAME ":/x", "H5D REGULAR_HYPERSLAB_SELECTS", -1);
	want(to, FILE_NAME ":/x", "H5D IRREGULAR_HYPERSLAB_SELECTS", -1);
	want(to, FILE_NAME ":/x", "H5D SIZE_WRITE_AGG_0_100", 2);
#endif
	H5Fclose(f);
	fclose(to);
	if (fake.open || fake.bad)
		fprintf(stderr, "%d left open, %d wrong\n", fake.open, fake.bad);
	return fake.open || fake.bad;
}

#ifdef PLUGIN
int plugin(const char *name, int turn);
int plugin(const char *name, int turn)
{
	(void)name;
	return turn == 0 ? use() : 0;
}
#else
int main(void)
{
	return use();
}
#endif
#else
struct fake fake;

#define IS(x) (fake.bad += !(x))

static hid opened(hid id)
{
	fake.open++;
	return OUT(id);
}

static int closed(hid id, hid is)
{
	fake.open--;
	IS(IN(id) == is);
	return 0;
}

int H5get_libversion(unsigned *a, unsigned *b, unsigned *c);
int H5get_libversion(unsigned *a, unsigned *b, unsigned *c)
{
	*a = 1, *b = VERSION, *c = 0;
	return 0;
}

hid H5Fopen(const char *path, unsigned flags, hid fapl)
{
	IS(strcmp(path, FILE_NAME) == 0 && flags == 7 && IN(fapl) == OTHER_ID);
	return opened(FILE_ID);
}

int H5Fclose(hid f)
{
	return closed(f, FILE_ID);
}

hid H5Dopen1(hid at, const char *name)
{
	IS(IN(at) == FILE_ID && strcmp(name, "x") == 0);
	return opened(SET_ID);
}

int H5Dclose(hid d)
{
	return closed(d, SET_ID);
}

int H5Dwrite(hid d, hid type, hid mem, hid file, hid dxpl, const void *buf)
{
	IS(IN(d) == SET_ID && type == 1 && buf == &fake);
	IS(IN(mem) == 0 || IN(mem) == SPACE_ID);
	IS(IN(file) == 0 || IN(file) == 2 || IN(file) == SPACE_ID);
	IS(IN(dxpl) == 0 || IN(dxpl) == OTHER_ID);
	return 0;
}

hid H5Gcreate2(hid at, const char *name, hid lcpl, hid gcpl, hid gapl)
{
	IS(IN(at) == FILE_ID && strcmp(name, "g") == 0 && IN(lcpl) == 0 && IN(gcpl) == 0 &&
	   IN(gapl) == OTHER_ID);
	usleep(META_US);
	return OUT(META_ID);
}

hid H5Acreate2(hid at, const char *name, hid type, hid space, hid acpl, hid aapl)
{
	IS(IN(at) == SET_ID && strcmp(name, "a") == 0 && IN(type) == 1 && IN(space) == 2 &&
	   IN(acpl) == 3 && IN(aapl) == 4);
	usleep(META_US);
	return OUT(META_ID);
}

int H5Awrite(hid attr, hid type, const void *buf)
{
	IS(IN(attr) == META_ID && IN(type) == 1 && buf == &fake);
	usleep(META_US);
	return 0;
}

int H5Lexists(hid at, const char *name, hid lapl)
{
	IS(IN(at) == FILE_ID && strcmp(name, "none") == 0 && IN(lapl) == 0);
	usleep(10 * META_US);
	return -1;
}

/* what only we ask */
#define ASKED(ret, name, ...)  \
	ret name(__VA_ARGS__); \
	ret name(__VA_ARGS__)

static ssize_t text(char *to, size_t room, const char *is)
{
	snprintf(to, room, "%s", is);
	return (ssize_t)strlen(is);
}

ASKED(ssize_t, H5Fget_name, hid at, char *to, size_t room)
{
	IS(IN(at) == FILE_ID || IN(at) == SET_ID || IN(at) == META_ID);
	return text(to, room, FILE_NAME);
}

ASKED(ssize_t, H5Iget_name, hid at, char *to, size_t room)
{
	return text(to, room, IN(at) == SET_ID ? "/x" : "/");
}

ASKED(int, H5Iget_type, hid at)
{
	IS(IN(at) == SET_ID);
	return 5;
}

ASKED(int, H5Iis_valid, hid at)
{
	(void)at;
	return 0;
}

ASKED(hid, H5Dget_space, hid d)
{
	IS(IN(d) == SET_ID);
	return opened(SPACE_ID);
}

ASKED(hid, H5Dget_type, hid d)
{
	IS(IN(d) == SET_ID);
	return opened(OTHER_ID);
}

ASKED(hid, H5Dget_create_plist, hid d)
{
	IS(IN(d) == SET_ID);
	return opened(OTHER_ID);
}

ASKED(size_t, H5Tget_size, hid t)
{
	IS(IN(t) == OTHER_ID);
	return 8;
}

ASKED(int, H5Tclose, hid t)
{
	return closed(t, OTHER_ID);
}

ASKED(int, H5Sclose, hid s)
{
	return closed(s, SPACE_ID);
}

ASKED(int, H5Pclose, hid p)
{
	return closed(p, OTHER_ID);
}

ASKED(int, H5Sget_simple_extent_ndims, hid s)
{
	IS(IN(s) == SPACE_ID);
	return 1;
}

ASKED(int64_t, H5Sget_simple_extent_npoints, hid s)
{
	IS(IN(s) == SPACE_ID);
	return 10;
}

ASKED(int, H5Sget_simple_extent_dims, hid s, uint64_t *dims, uint64_t *most)
{
	IS(IN(s) == SPACE_ID);
	*dims = 10, *most = UINT64_MAX;
	return 1;
}

ASKED(int64_t, H5Sget_select_npoints, hid s)
{
	IS(IN(s) == SPACE_ID);
	return 3;
}

ASKED(int, H5Sget_select_type, hid s)
{
	IS(IN(s) == SPACE_ID);
	return 2;
}

ASKED(int, H5Pget_layout, hid p)
{
	IS(IN(p) == OTHER_ID);
	return 1;
}

ASKED(hid, H5Pget_driver, hid p)
{
	IS(IN(p) == OTHER_ID);
	return OUT(DRIVER);
}

#if VERSION > 8
ASKED(int, H5Dflush, hid d)
{
	(void)d;
	return 0;
}

hid H5Oopen_by_token(hid at, token t)
{
	IS(IN(at) == FILE_ID && memcmp(t.byte, "0123456789abcde", 16) == 0);
	return opened(SET_ID);
}

int H5Oclose(hid d)
{
	return closed(d, SET_ID);
}

ASKED(int, H5Sis_regular_hyperslab, hid s)
{
	IS(IN(s) == SPACE_ID);
	return 1;
}

ASKED(int, H5Sget_regular_hyperslab, hid s, uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d)
{
	IS(IN(s) == SPACE_ID);
	*a = 0, *b = 2, *c = 3, *d = 1;
	return 0;
}

ASKED(int, H5Pget_dxpl_mpio, hid p, int *mode)
{
	IS(IN(p) == OTHER_ID);
	*mode = 1;
	return 0;
}

static int may_init;

ASKED(hid, H5FD_mpio_init, void)
{
	IS(may_init);
	return OUT(DRIVER);
}

ASKED(hid, H5FDperform_init, hid (*init)(void))
{
	may_init = 1;
	return init();
}
#endif
#endif
