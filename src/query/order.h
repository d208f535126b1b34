/* SPDX-License-Identifier: BSD-3-Clause */
/* order.h: the order of a list of jobs as parts that follow one another, each of which an index
 * can give in order. Inside query only. */
#ifndef RAMA_QUERY_ORDER_H
#define RAMA_QUERY_ORDER_H

#include "query/jobs.h"

#define RAMA_QUERY_PARTS 4
#define RAMA_QUERY_TEXT 1200

struct rama_query_part {
	const char *from;	     /* tables; the row of the job is j */
	const char *number;	     /* of the job */
	char key[RAMA_QUERY_TEXT];   /* sorted by this; "": all are alike */
	char where[RAMA_QUERY_TEXT]; /* which rows are in this part */
	const char
		*sign; /* of the key in this part, " > 0"; NULL: any. One that is given has it. */
	/* the same for rows whose key the index does not have, as far as they have one; "":
	 * there are none */
	char rest[RAMA_QUERY_TEXT], rest_where[RAMA_QUERY_TEXT];
	struct rama_store_cell same; /* the key of a part whose rows are alike */
};

struct rama_query_order {
	struct rama_query_part part[RAMA_QUERY_PARTS];
	unsigned n;
	char key[RAMA_QUERY_TEXT]; /* of any job */
	bool up;
};

void rama_query_order_init(struct rama_query_order *o, const struct rama_query_jobs *q);
/* the part that a key is in */
unsigned rama_query_order_part(const struct rama_query_order *o, const struct rama_store_cell *key);

/* A place in the order as a text of letters, digits and dots, in the arena; NULL: no memory. */
const char *rama_query_place_text(struct rama_query_jobs *q, const struct rama_store_cell *key,
				  int64_t job);
/* RAMA_EUSAGE: it is no place in this order */
int rama_query_place_parse(struct rama_query_jobs *q, const char *text,
			   struct rama_query_place *place, struct rama_err *e);

#endif
