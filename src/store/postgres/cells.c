/* SPDX-License-Identifier: BSD-3-Clause */
/* cells.c: values on their way to PostgreSQL and back. Numbers go as bytes where the
 * server has said that it wants that very type, else as text, which it reads as any type. */
#include "store/postgres/postgres.h"

#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments ------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character that begins here, 0: none does. A NUL is none for PostgreSQL. */
static size_t utf8_length(const unsigned char *s, size_t n)
{
	size_t len = s[0] < 0x80		   ? 1
		     : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		     : (s[0] & 0xf0) == 0xe0	   ? 3
						   : 4;

	if (s[0] == 0 || (s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

char *rama_store_pg_clean(const char *text, size_t n, size_t *len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t at = 0, used = 0, wide;
	char *to;

	*len = n;
	while (at < n && (wide = utf8_length(s + at, n - at)) != 0)
		at += wide;
	if (at == n)
		return NULL;
	to = malloc(4 * n + 1);
	*len = 0;
	if (to == NULL)
		return NULL;
	for (at = 0; at < n; at += wide != 0 ? wide : 1) {
		wide = utf8_length(s + at, n - at);
		if (wide != 0)
			memcpy(to + used, s + at, wide);
		else
			snprintf(to + used, 5, "\\x%02x", s[at]);
		used += wide != 0 ? wide : 4;
	}
	to[used] = '\0';
	*len = used;
	return to;
}

void rama_store_pg_args_fini(struct rama_store_pg_args *a)
{
	for (unsigned i = 0; a->text != NULL && i < a->n; i++)
		free(a->text[i]);
	free(a->text);
	free(a->value);
	free(a->length);
	free(a->format);
	free(a->type);
	free(a->number);
	*a = (struct rama_store_pg_args){ 0 };
}

/* a number as bytes of that type; false: it has to go as text */
static bool number_bytes(struct rama_store_pg_args *a, unsigned i, Oid type,
			 const struct rama_store_cell *c)
{
	int64_t v = c->i;
	uint64_t u8;
	uint32_t u4;
	uint16_t u2;
	double f = c->type == RAMA_STORE_CELL_REAL ? c->f : (double)v;

	if (type == RAMA_STORE_PG_FLOAT8) {
		memcpy(&u8, &f, 8);
		u8 = htobe64(u8);
		memcpy(a->number[i], &u8, (size_t)(a->length[i] = 8));
		return true;
	}
	if (c->type != RAMA_STORE_CELL_INT)
		return false;
	if (type == RAMA_STORE_PG_INT8) {
		u8 = htobe64((uint64_t)v);
		memcpy(a->number[i], &u8, (size_t)(a->length[i] = 8));
	} else if (type == RAMA_STORE_PG_INT4 && v >= INT32_MIN && v <= INT32_MAX) {
		u4 = htobe32((uint32_t)v);
		memcpy(a->number[i], &u4, (size_t)(a->length[i] = 4));
	} else if (type == RAMA_STORE_PG_INT2 && v >= INT16_MIN && v <= INT16_MAX) {
		u2 = htobe16((uint16_t)v);
		memcpy(a->number[i], &u2, (size_t)(a->length[i] = 2));
	} else {
		return false;
	}
	return true;
}

static void number_text(struct rama_store_pg_args *a, unsigned i, const struct rama_store_cell *c)
{
	if (c->type == RAMA_STORE_CELL_INT)
		snprintf(a->number[i], sizeof(a->number[i]), "%" PRId64, c->i);
	else if (isnan(c->f))
		memcpy(a->number[i], "NaN", 4);
	else if (isinf(c->f))
		snprintf(a->number[i], sizeof(a->number[i]), "%sInfinity", c->f < 0 ? "-" : "");
	else
		snprintf(a->number[i], sizeof(a->number[i]), "%.17g", c->f);
}

/* As bytes where a text is wanted, else (it may be the text of a number) as the text that it is,
 * with a NUL. */
static int put_text(struct rama_store_pg_args *a, unsigned i, Oid type,
		    const struct rama_store_cell *c, struct rama_err *e)
{
	size_t len;

	a->text[i] = rama_store_pg_clean(c->text, c->len, &len);
	a->format[i] = type == RAMA_STORE_PG_TEXT;
	if (a->text[i] == NULL && len == c->len && a->format[i] == 0)
		a->text[i] = strndup(c->text, len);
	if (a->text[i] == NULL && (len != c->len || a->format[i] == 0))
		return rama_err_no_memory(e);
	a->value[i] = a->text[i] != NULL ? a->text[i] : c->text;
	a->length[i] = (int)len;
	return 0;
}

static int put_arg(struct rama_store_pg_args *a, unsigned i, Oid type,
		   const struct rama_store_cell *c, struct rama_err *e)
{
	if (c->type == RAMA_STORE_CELL_NULL)
		return 0;
	if (c->type == RAMA_STORE_CELL_INT || c->type == RAMA_STORE_CELL_REAL) {
		a->value[i] = a->number[i];
		a->format[i] = number_bytes(a, i, type, c) ? 1 : 0;
		if (a->format[i] == 0)
			number_text(a, i, c);
		return 0;
	}
	if (c->len > INT32_MAX / 4)
		return rama_err_set(e, RAMA_ELIMIT, "a value of %zu bytes", c->len);
	if (c->type == RAMA_STORE_CELL_TEXT)
		return put_text(a, i, type, c, e);
	a->value[i] = c->text;
	a->length[i] = (int)c->len;
	a->format[i] = 1;
	return 0;
}

int rama_store_pg_args_init(struct rama_store_pg_args *a, const struct rama_store_pg_statement *st,
			    const struct rama_store_cell *args, unsigned n, struct rama_err *e)
{
	/* more than it asks for is allowed, as elsewhere */
	unsigned most = st->type != NULL && st->n_types < n ? st->n_types : n;

	*a = (struct rama_store_pg_args){ .n = most };
	if (st->type != NULL && st->n_types > n)
		return rama_err_set(e, RAMA_EUSAGE, "%u arguments for %u places", n, st->n_types);
	a->value = calloc(most + 1, sizeof(*a->value));
	a->length = calloc(most + 1, sizeof(*a->length));
	a->format = calloc(most + 1, sizeof(*a->format));
	a->type = calloc(most + 1, sizeof(*a->type));
	a->number = calloc(most + 1, sizeof(*a->number));
	a->text = calloc(most + 1, sizeof(*a->text));
	if (a->value == NULL || a->length == NULL || a->format == NULL || a->type == NULL ||
	    a->number == NULL || a->text == NULL)
		return rama_err_no_memory(e);
	for (unsigned i = 0; i < most; i++) {
		int rc = put_arg(a, i, st->type != NULL ? st->type[i] : 0, &args[i], e);

		if (rc != 0)
			return rc;
		if (args[i].type == RAMA_STORE_CELL_BYTES)
			a->type[i] = RAMA_STORE_PG_BYTEA;
	}
	return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool rama_store_pg_binary(Oid type)
{
	switch (type) {
	case RAMA_STORE_PG_BOOL:
	case RAMA_STORE_PG_BYTEA:
	case RAMA_STORE_PG_NAME:
	case RAMA_STORE_PG_INT8:
	case RAMA_STORE_PG_INT2:
	case RAMA_STORE_PG_INT4:
	case RAMA_STORE_PG_TEXT:
	case RAMA_STORE_PG_FLOAT4:
	case RAMA_STORE_PG_FLOAT8:
	case RAMA_STORE_PG_INT2S:
	case RAMA_STORE_PG_INT4S:
	case RAMA_STORE_PG_INT8S:
	case RAMA_STORE_PG_VARCHAR:
		return true;
	default:
		return false;
	}
}

static uint64_t big_endian(const char *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

static void from_bytes(struct rama_store_cell *c, Oid type, const char *p, size_t n)
{
	uint64_t v = n <= 8 ? big_endian(p, n) : 0;
	uint32_t w = (uint32_t)v;
	float f;

	c->type = RAMA_STORE_CELL_INT;
	switch (type) {
	case RAMA_STORE_PG_BOOL:
	case RAMA_STORE_PG_INT8:
		c->i = (int64_t)v;
		break;
	case RAMA_STORE_PG_INT4:
		c->i = (int32_t)w;
		break;
	case RAMA_STORE_PG_INT2:
		c->i = (int16_t)(uint16_t)v;
		break;
	case RAMA_STORE_PG_FLOAT8:
		c->type = RAMA_STORE_CELL_REAL;
		memcpy(&c->f, &v, 8);
		break;
	case RAMA_STORE_PG_FLOAT4:
		c->type = RAMA_STORE_CELL_REAL;
		memcpy(&f, &w, 4);
		c->f = f;
		break;
	case RAMA_STORE_PG_BYTEA:
	case RAMA_STORE_PG_INT2S:
	case RAMA_STORE_PG_INT4S:
	case RAMA_STORE_PG_INT8S:
		c->type = RAMA_STORE_CELL_BYTES;
		break;
	default:
		c->type = RAMA_STORE_CELL_TEXT;
		break;
	}
}

static void from_text(struct rama_store_cell *c, Oid type, const char *p)
{
	c->type = RAMA_STORE_CELL_TEXT;
	switch (type) {
	case RAMA_STORE_PG_BOOL:
		c->type = RAMA_STORE_CELL_INT;
		c->i = p[0] == 't';
		break;
	case RAMA_STORE_PG_INT8:
	case RAMA_STORE_PG_INT4:
	case RAMA_STORE_PG_INT2:
	case RAMA_STORE_PG_OID:
		c->type = RAMA_STORE_CELL_INT;
		c->i = strtoll(p, NULL, 10);
		break;
	case RAMA_STORE_PG_NUMERIC: /* sums of integers are of this type */
		if (p[strspn(p, "-0123456789")] == '\0' && strlen(p) < 19) {
			c->type = RAMA_STORE_CELL_INT;
			c->i = strtoll(p, NULL, 10);
			break;
		}
		/* fall through */
	case RAMA_STORE_PG_FLOAT4:
	case RAMA_STORE_PG_FLOAT8:
		c->type = RAMA_STORE_CELL_REAL;
		c->f = strtod(p, NULL);
		break;
	default:
		break;
	}
}

/* Bytes that came as text ("\x0123"); freed by the caller. */
static unsigned char *unescaped(struct rama_store_cell *c, const char *p)
{
	size_t n = 0;
	unsigned char *bytes = PQunescapeBytea((const unsigned char *)p, &n);

	c->type = RAMA_STORE_CELL_BYTES;
	c->text = bytes != NULL ? (const char *)bytes : "";
	c->len = bytes != NULL ? n : 0;
	return bytes;
}

static void read_cell(const PGresult *r, int row, int i, struct rama_store_cell *c,
		      unsigned char **bytes)
{
	Oid type = PQftype(r, i);

	*c = (struct rama_store_cell){ .text = "" };
	*bytes = NULL;
	if (PQgetisnull(r, row, i))
		return;
	c->text = PQgetvalue(r, row, i);
	c->len = (size_t)PQgetlength(r, row, i);
	if (PQfformat(r, i) == 1)
		from_bytes(c, type, c->text, c->len);
	else if (type == RAMA_STORE_PG_BYTEA)
		*bytes = unescaped(c, c->text);
	else
		from_text(c, type, c->text);
}

static int give_rows(const PGresult *r, struct rama_store_row *line, struct rama_store_cell *cell,
		     unsigned char **bytes, const struct rama_store_pg_reader *to,
		     struct rama_err *e)
{
	int rc = 0;

	for (int row = 0; rc == 0 && row < PQntuples(r); row++) {
		for (unsigned i = 0; i < line->n; i++)
			read_cell(r, row, (int)i, &cell[i], &bytes[i]);
		rc = to->fn(to->ctx, line, e);
		for (unsigned i = 0; i < line->n; i++)
			PQfreemem(bytes[i]);
	}
	return rc;
}

int rama_store_pg_give(const PGresult *r, const struct rama_store_pg_reader *to, struct rama_err *e)
{
	unsigned n = (unsigned)PQnfields(r);
	struct rama_store_cell *cell = calloc(n + 1, sizeof(*cell));
	const char **name = calloc(n + 1, sizeof(char *));
	unsigned char **bytes = calloc(n + 1, sizeof(unsigned char *));
	struct rama_store_row line = { .n = n, .name = name, .cell = cell };
	int rc = RAMA_EMEMORY;

	if (cell != NULL && name != NULL && bytes != NULL) {
		for (unsigned i = 0; i < n; i++)
			name[i] = PQfname(r, (int)i);
		rc = give_rows(r, &line, cell, bytes, to, e);
	} else {
		rama_err_set(e, rc, "out of memory");
	}
	free(cell);
	free((void *)name);
	free((void *)bytes);
	return rc;
}
