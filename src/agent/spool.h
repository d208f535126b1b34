/* SPDX-License-Identifier: BSD-3-Clause */
/* spool.h: messages on disk until the store has committed them. One process appends and reads
 * (two threads of it: append, and read + commit); kill -9 at any moment loses nothing that
 * append() has returned for. */
#ifndef RAMA_AGENT_SPOOL_H
#define RAMA_AGENT_SPOOL_H

#include "base/source.h"
#include "bus/sink/sink.h"

struct rama_agent_spool;

struct rama_agent_spool_state {
	uint64_t next;	    /* number the next message gets */
	uint64_t committed; /* all up to this one are gone from the spool; 0: none */
	uint64_t bytes, limit, messages;
	bool full;
};

/* dir is made if it is not there (mode 0700), locked against another process (RAMA_EIO, and the
 * line names the process that has it). Damaged tails, left by a crash of the machine, are cut
 * off and told. */
int rama_agent_spool_open(struct rama_agent_spool **s, const char *dir, uint64_t limit,
			  void (*tell)(void *ctx, const char *line), void *ctx, struct rama_err *e);
void rama_agent_spool_close(struct rama_agent_spool *s);
/* Is there room for a message of n bytes, with some left for the small ones that say what was
 * lost? */
bool rama_agent_spool_has_room(struct rama_agent_spool *s, size_t n);
/* 0, and *number; RAMA_ELIMIT: it does not fit the limit; RAMA_EIO: the disk is full or broken.
 * Then nothing was written. */
int rama_agent_spool_append(struct rama_agent_spool *s, const unsigned char *bytes, size_t n,
			    uint64_t *number, struct rama_err *e);
/* Parcels from number `from` on, at most `most` of them and about 4 MiB; their bytes are valid
 * until the next read. Returns how many (0: none yet) or negative. */
int rama_agent_spool_read(struct rama_agent_spool *s, uint64_t from, struct rama_bus_parcel *p,
			  unsigned most, struct rama_err *e);
int rama_agent_spool_commit(struct rama_agent_spool *s, uint64_t number, struct rama_err *e);
void rama_agent_spool_state(struct rama_agent_spool *s, struct rama_agent_spool_state *st);
/* descriptor of its directory, for other small files there */
int rama_agent_spool_dir(const struct rama_agent_spool *s);

/* ---- what files of a spool hold: spool_scan.c. docs/live.md tells the bytes ------------------ */

#define RAMA_AGENT_SPOOL_MAGIC 0x6c6f6f7073616d72ull /* "rmaspool" */
#define RAMA_AGENT_SPOOL_RECORD 0x0a676d61u	     /* "amg\n" */

struct rama_agent_spool_head { /* at the beginning of a file */
	uint64_t magic;
	uint64_t first; /* number of its first message */
};
struct rama_agent_spool_record { /* before each message; the next one begins at a multiple of 8 */
	uint32_t magic, len;
	uint64_t number;
	uint32_t sum, head_sum; /* CRC-32 of the message; of the fields before this one */
};

struct rama_agent_spool_scan {
	uint64_t first, next; /* numbers of its first message and of the one after its last */
	uint64_t end;	      /* bytes that are good */
	bool damaged;	      /* something lies behind them */
};
/* Reads a file through. RAMA_ECORRUPT: not even its head is one. */
int rama_agent_spool_scan(struct rama_source *src, struct rama_agent_spool_scan *scan,
			  struct rama_err *e);
void rama_agent_spool_record_make(struct rama_agent_spool_record *r, const unsigned char *bytes,
				  size_t n, uint64_t number);
/* Is this the head of a message with at most `left` bytes behind it? */
bool rama_agent_spool_record_good(const struct rama_agent_spool_record *r, uint64_t left);
static inline uint64_t rama_agent_spool_padded(uint64_t n)
{
	return (n + 7) & ~(uint64_t)7;
}

#endif
