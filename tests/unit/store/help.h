/* SPDX-License-Identifier: BSD-3-Clause */
/* help.h: stores that are empty at the start of each test, and events whose truth is known:
 * every field of event number `seq` of a lane of a process follows from these three numbers. */
#ifndef RAMA_TESTS_STORE_HELP_H
#define RAMA_TESTS_STORE_HELP_H

#include "unit.h"

#include "store/store.h"

#define T0 1700000000000000000ll /* ns since 1970 */
#define STEP 1000000ll		 /* ns between the events of a lane */

/* An empty store, made at `where()`: a file of its own, or the database that IORAMA_TEST_STORE
 * names. */
struct rama_store *fresh(void);
const char *where(void);
bool is_sqlite(void);
bool is_elsewhere(void);		   /* its blocks: not in its tables */
struct rama_store *reopen(unsigned flags); /* the same once more */
struct rama_store *reopen_at(const char *path, unsigned flags);

struct rama_wire_segment_key key_of(unsigned process);
struct rama_wire_event truth(unsigned process, unsigned lane, uint64_t seq);
const struct rama_wire_what *what_of(const struct rama_wire_event *ev);

/* messages; the memory of a block lives until the next one is made */
struct rama_wire_message block_of(const char *job, unsigned process, unsigned lane, uint64_t first,
				  uint32_t n);
struct rama_wire_message process_of(const char *job, unsigned process, uint64_t version,
				    int64_t rank);

/* in an open batch; each fails the test if it fails */
uint64_t put(struct rama_store *s, const struct rama_wire_message *m);
void begin(struct rama_store *s);
void commit(struct rama_store *s);
/* one message in a batch of its own: events that came in */
uint64_t put_one(struct rama_store *s, const struct rama_wire_message *m);

int64_t number(struct rama_store *s, const char *sql);	 /* of the first row */
const char *text(struct rama_store *s, const char *sql); /* until the next call */
int64_t job_number(struct rama_store *s, const char *key);
/* everything in it as one text, numbers of rows aside; free it */
char *content(struct rama_store *s);

#endif
