/* SPDX-License-Identifier: BSD-3-Clause */
/* truth.h: programs under test do their I/O through these words, which keep the counters that the
 * log must show by the plainest reading of the rules, and print them at the end. Nothing of src/
 * is used here.
 *
 * t_x(...) makes the call x and notes it; m_x(...) only notes. The calls stay in the program's own
 * text, so that the way it is compiled (fortified, 64-bit offsets) decides which symbol is used.
 * What is printed goes to $TRUTH_FILE, by system calls of our own, one line each:
 *
 *   TRUTH pid module path counter value     other counters of that record are 0
 *   RECORD pid module path                  the record is there
 *   ANY pid module path counter             not determined
 *   TOTAL pid module counter value          over all records; the records are then not looked at
 *   DXT pid module path r|w offset length thread
 *   NOTE pid key value                      for the one that runs the program */
#ifndef TRUTH_H
#define TRUTH_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum t_how { T_PLAIN, T_AIO, T_COPY };

/* ---- notes: they keep errno and hand back the result of the call --------------------------- */
int m_open(int dirfd, const char *path, int mode, int ret);
void m_forget(int fd);	     /* the descriptor is closed, or about to be */
void m_at(int fd, off_t at); /* where a descriptor stands that was not opened here */
int m_dup(int old, int ret);
ssize_t m_rw(int fd, char kind, off_t off, ssize_t ret, const void *mem, enum t_how how);
ssize_t m_rwv(int fd, char kind, off_t off, ssize_t ret, const struct iovec *v, int n);
off_t m_seek(int fd, off_t ret);
int m_sync(int fd, const char *counter, int ret);
/* a file or descriptor looked at; `mode` as in st_mode */
int m_stat(int dirfd, const char *path, mode_t mode, int ret);
int m_fstat(int fd, mode_t mode, int ret);
int m_rename(int olddir, const char *from, int newdir, const char *to, int ret);
/* a counter of the EXTRA record */
int m_extra(int dirfd, const char *path, const char *counter, int ret);
int m_fextra(int fd, const char *counter, int ret);
void m_mmap(int fd, size_t len);

FILE *m_fopen(const char *path, FILE *f);
FILE *m_fdopen(int fd, FILE *f);
void m_fclose(FILE *f);
int m_fileno(FILE *f, int fd);
void m_sio(FILE *f, char kind, long bytes); /* nothing if bytes <= 0 */
void m_empty(FILE *f);			    /* a write of no bytes that counts: fputs("") */
int m_sseek(FILE *f, long at, int ret);	    /* at: where it is now */
int m_flush(FILE *f, int ret);

/* ---- the truth said directly: for threads, signal handlers, what has no word here ---------- */
void t_want(const char *module, const char *path, const char *counter, int64_t value);
void t_add(const char *module, const char *path, const char *counter, int64_t value);
void t_any(const char *module, const char *path, const char *counter);
/* what depends on the order in which threads reached the file */
void t_any_order(const char *path);
void t_total(const char *module, const char *counter, int64_t value);
void t_note(const char *key, const char *value);
void t_untraced(void); /* no DXT lines from here on */

void t_child(bool knows_descriptors); /* after fork: a new history begins */
void t_done(void);		      /* print it all; last of all */
/* fail with a message unless the condition holds */
void t_must(bool ok, const char *what, int line);
#define MUST(x) t_must((x), #x, __LINE__)

/* ---- calls ------------------------------------------------------------------------------- */
#define T_LAST(...) \
	((int[]){ 0, ##__VA_ARGS__ }[sizeof((int[]){ 0, ##__VA_ARGS__ }) / sizeof(int) - 1])

#define t_open(path, flags, ...)                               \
	({                                                     \
		const char *p_ = (path);                       \
		int r_ = open(p_, (flags), ##__VA_ARGS__);     \
		m_open(AT_FDCWD, p_, T_LAST(__VA_ARGS__), r_); \
	})
#define t_openat(dir, path, flags, ...)                          \
	({                                                       \
		int d_ = (dir);                                  \
		const char *p_ = (path);                         \
		int r_ = openat(d_, p_, (flags), ##__VA_ARGS__); \
		m_open(d_, p_, T_LAST(__VA_ARGS__), r_);         \
	})
#define t_close(fd)            \
	({                     \
		int f_ = (fd); \
		m_forget(f_);  \
		close(f_);     \
	})
#define t_read(fd, buf, n)                                            \
	({                                                            \
		int f_ = (fd);                                        \
		void *b_ = (buf);                                     \
		m_rw(f_, 'r', -1, read(f_, (buf), (n)), b_, T_PLAIN); \
	})
#define t_write(fd, buf, n)                                            \
	({                                                             \
		int f_ = (fd);                                         \
		const void *b_ = (buf);                                \
		m_rw(f_, 'w', -1, write(f_, (buf), (n)), b_, T_PLAIN); \
	})
#define t_pread(fd, buf, n, off)                                           \
	({                                                                 \
		int f_ = (fd);                                             \
		void *b_ = (buf);                                          \
		off_t o_ = (off);                                          \
		m_rw(f_, 'r', o_, pread(f_, (buf), (n), o_), b_, T_PLAIN); \
	})
#define t_pwrite(fd, buf, n, off)                                           \
	({                                                                  \
		int f_ = (fd);                                              \
		const void *b_ = (buf);                                     \
		off_t o_ = (off);                                           \
		m_rw(f_, 'w', o_, pwrite(f_, (buf), (n), o_), b_, T_PLAIN); \
	})
#define t_lseek(fd, off, whence)                        \
	({                                              \
		int f_ = (fd);                          \
		m_seek(f_, lseek(f_, (off), (whence))); \
	})
#define t_fopen(path, mode)                     \
	({                                      \
		const char *p_ = (path);        \
		m_fopen(p_, fopen(p_, (mode))); \
	})
#define t_fclose(f)             \
	({                      \
		FILE *s_ = (f); \
		m_fclose(s_);   \
		fclose(s_);     \
	})
#define t_fwrite(buf, size, n, f)                       \
	({                                              \
		FILE *s_ = (f);                         \
		size_t z_ = (size);                     \
		size_t k_ = fwrite((buf), z_, (n), s_); \
		m_sio(s_, 'w', (long)(k_ * z_));        \
		k_;                                     \
	})
#define t_fread(buf, size, n, f)                       \
	({                                             \
		FILE *s_ = (f);                        \
		size_t z_ = (size);                    \
		size_t k_ = fread((buf), z_, (n), s_); \
		m_sio(s_, 'r', (long)(k_ * z_));       \
		k_;                                    \
	})

#endif
