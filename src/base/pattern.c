/* SPDX-License-Identifier: BSD-3-Clause */
/* A pattern becomes a program of nodes that stand one after the other. Jumps are relative, so
 * that a finished part can be moved and copied. */
#include "base/pattern.h"

#include <string.h>

/* what the nodes of a compiled pattern mean */
enum node_op {
	NODE_CHAR,
	NODE_ANY,
	NODE_SET,
	NODE_JUMP,   /* to `to` */
	NODE_SPLIT,  /* to the next node and to `to` */
	NODE_ASSERT, /* goes on if the place is right */
	NODE_MATCH
};

/* arg of NODE_ASSERT */
enum place {
	AT_BEGIN,
	AT_END,
	AT_BORDER, /* of a word */
	AT_NO_BORDER,
	AT_WORD_BEGIN,
	AT_WORD_END
};

#define DEPTH 64	   /* of parentheses */
#define REPEAT_MOST 0x7fff /* as in libc */

struct group {
	uint16_t start, branch; /* where it and its current alternative begin */
	int16_t pending;	/* last jump to its end, -1: none; they are chained by their `to` */
};

struct maker {
	struct rama_patterns *ps;
	const unsigned char *p, *end;
	struct rama_pattern_node *code;
	unsigned n, most;
	int atom; /* start of what a repetition would repeat, -1: nothing */
	unsigned depth;
	struct group group[DEPTH];
	int error;
	const char *why;
};

static void wrong(struct maker *m, int error, const char *why)
{
	if (m->error == 0) {
		m->error = error;
		m->why = why;
	}
}

static bool room(struct maker *m, size_t n)
{
	if (n > m->most - m->n)
		wrong(m, RAMA_ELIMIT, "pattern is too large");
	return m->error == 0;
}

static void emit(struct maker *m, enum node_op op, unsigned arg, int to)
{
	if (room(m, 1))
		m->code[m->n++] =
			(struct rama_pattern_node){ (uint8_t)op, (uint8_t)arg, (int16_t)to };
}

static void emit_before(struct maker *m, unsigned at, enum node_op op, int to)
{
	if (!room(m, 1))
		return;
	memmove(&m->code[at + 1], &m->code[at], (m->n - at) * sizeof(m->code[0]));
	m->code[at] = (struct rama_pattern_node){ (uint8_t)op, 0, (int16_t)to };
	m->n++;
}

static void emit_atom(struct maker *m, enum node_op op, unsigned arg, int to)
{
	m->atom = (int)m->n;
	emit(m, op, arg, to);
}

/* ---- sets of bytes --------------------------------------------------------------------------- */

static void set_add(struct rama_pattern_set *set, unsigned c)
{
	set->bits[c / 64] |= (uint64_t)1 << c % 64;
}

static void set_invert(struct rama_pattern_set *set)
{
	for (unsigned i = 0; i < 4; i++)
		set->bits[i] = ~set->bits[i];
}

static void emit_set(struct maker *m, const struct rama_pattern_set *set)
{
	struct rama_patterns *ps = m->ps;
	unsigned i = 0;

	while (i < ps->n_sets && memcmp(&ps->set[i], set, sizeof(*set)) != 0)
		i++;
	if (i == RAMA_PATTERN_SETS) {
		wrong(m, RAMA_ELIMIT, "too many sets of characters");
		return;
	}
	if (i == ps->n_sets)
		ps->set[ps->n_sets++] = *set;
	emit_atom(m, NODE_SET, 0, (int)i);
}

/* ASCII, whatever the locale of the program we are in; ranges of two bytes each */
static const struct {
	char name[7];
	char ranges[9];
} classes[] = {
	{ "alpha", "AZaz" },   { "digit", "09" },	{ "alnum", "09AZaz" },
	{ "upper", "AZ" },     { "lower", "az" },	{ "space", "\t\r  " },
	{ "blank", "\t\t  " }, { "punct", "!/:@[`{~" }, { "print", " ~" },
	{ "graph", "!~" },     { "xdigit", "09AFaf" },	{ "cntrl", "\001\037\177\177" },
};

static bool set_class(struct rama_pattern_set *set, const unsigned char *name, size_t len)
{
	for (unsigned i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		const char *r = classes[i].ranges;

		if (strlen(classes[i].name) != len || memcmp(classes[i].name, name, len) != 0)
			continue;
		for (; *r != '\0'; r += 2)
			for (unsigned c = (unsigned char)r[0]; c <= (unsigned char)r[1]; c++)
				set_add(set, c);
		if (strcmp(classes[i].name, "cntrl") == 0)
			set_add(set, 0);
		return true;
	}
	return false;
}

/* \w \W \s \S */
static void escaped_set(struct maker *m, unsigned char c)
{
	struct rama_pattern_set set = { { 0 } };

	if (c == 'w' || c == 'W') {
		set_class(&set, (const unsigned char *)"alnum", 5);
		set_add(&set, '_');
	} else {
		set_class(&set, (const unsigned char *)"space", 5);
	}
	if (c == 'W' || c == 'S')
		set_invert(&set);
	emit_set(m, &set);
}

/* [:name:], [.x.] and [=x=], the '[' at m->p. The byte it stands for, or -1: it was added to the
 * set */
static int named_element(struct maker *m, struct rama_pattern_set *set)
{
	unsigned char kind = m->p[1];
	const unsigned char *name = m->p + 2, *at = name;

	while (at + 1 < m->end && !(at[0] == kind && at[1] == ']'))
		at++;
	if (at + 1 >= m->end) {
		wrong(m, RAMA_EUSAGE, "[ without ]");
		return -1;
	}
	m->p = at + 2;
	if (kind == ':') {
		if (!set_class(set, name, (size_t)(at - name)))
			wrong(m, RAMA_EUSAGE, "unknown class of characters");
		return -1;
	}
	if (at - name != 1) {
		wrong(m, RAMA_EUSAGE, "unknown collating element");
		return -1;
	}
	if (kind == '=')
		set_add(set, *name);
	return kind == '=' ? -1 : *name;
}

/* one element of a set; as named_element() */
static int element(struct maker *m, struct rama_pattern_set *set, bool glob)
{
	if (m->p[0] == '[' && m->p + 1 < m->end &&
	    (m->p[1] == ':' || m->p[1] == '.' || m->p[1] == '='))
		return named_element(m, set);
	if (glob && m->p[0] == '\\' && m->p + 1 < m->end)
		m->p++;
	return *m->p++;
}

static bool range_follows(const struct maker *m)
{
	return m->p + 1 < m->end && m->p[0] == '-' && m->p[1] != ']';
}

static void set_item(struct maker *m, struct rama_pattern_set *set, bool glob)
{
	int first = element(m, set, glob), last;

	if (m->error != 0)
		return;
	if (!range_follows(m)) {
		if (first >= 0)
			set_add(set, (unsigned)first);
		return;
	}
	m->p++;
	last = element(m, set, glob);
	if (first < 0 || last < first)
		wrong(m, RAMA_EUSAGE, "wrong range of characters");
	for (int c = first; m->error == 0 && c <= last; c++)
		set_add(set, (unsigned)c);
}

/* what follows a '[', up to its ']' */
static void bracket(struct maker *m, bool glob)
{
	struct rama_pattern_set set = { { 0 } };
	bool invert = m->p < m->end && (*m->p == '^' || (glob && *m->p == '!'));
	const unsigned char *first;

	m->p += invert;
	first = m->p;
	while (m->error == 0) {
		if (m->p >= m->end) {
			wrong(m, RAMA_EUSAGE, "[ without ]");
			return;
		}
		if (*m->p == ']' && m->p > first)
			break;
		if (!glob && *m->p == '-' && m->p > first && m->p + 1 < m->end && m->p[1] != ']')
			wrong(m, RAMA_EUSAGE, "wrong range of characters");
		set_item(m, &set, glob);
	}
	if (m->error != 0)
		return;
	m->p++;
	if (invert)
		set_invert(&set);
	emit_set(m, &set);
}

/* ---- regular expressions --------------------------------------------------------------------- */

static void group_open(struct maker *m)
{
	if (m->depth == DEPTH) {
		wrong(m, RAMA_ELIMIT, "parentheses are nested too deeply");
		return;
	}
	m->group[m->depth++] = (struct group){ (uint16_t)m->n, (uint16_t)m->n, -1 };
	m->atom = -1;
}

static void group_close(struct maker *m)
{
	const struct group *g = &m->group[--m->depth];
	int prev;

	for (int j = g->pending; j >= 0; j = prev) {
		prev = m->code[j].to;
		m->code[j].to = (int16_t)((int)m->n - j);
	}
	m->atom = g->start;
}

static void alternative(struct maker *m)
{
	struct group *g = &m->group[m->depth - 1];

	if (!room(m, 2))
		return;
	emit_before(m, g->branch, NODE_SPLIT, (int)(m->n - g->branch) + 2);
	emit(m, NODE_JUMP, 0, g->pending);
	g->pending = (int16_t)(m->n - 1);
	g->branch = (uint16_t)m->n;
	m->atom = -1;
}

/* the atom `least` times and then up to `most` times; most < 0: any number of times */
static void repeat(struct maker *m, int least, int most)
{
	unsigned at = (unsigned)m->atom, len = m->n - at;
	int copies = most < 0 ? (least > 0 ? least : 1) : most;
	struct rama_pattern_node *atom = &m->code[at];

	if (copies == 0) {
		m->n = at;
		return;
	}
	if (!room(m, (size_t)(copies - 1) * (len + 1) + 2))
		return;
	for (int i = 1; i < copies; i++) {
		if (i >= least)
			emit(m, NODE_SPLIT, 0, (int)len + 1);
		memcpy(&m->code[m->n], atom, len * sizeof(*atom));
		m->n += len;
	}
	if (most < 0 && least > 0) {
		emit(m, NODE_SPLIT, 0, -(int)len);
	} else if (most < 0) {
		emit_before(m, at, NODE_SPLIT, (int)len + 2);
		emit(m, NODE_JUMP, 0, -(int)len - 1);
	} else if (least == 0) {
		emit_before(m, at, NODE_SPLIT, (int)len + 1);
	}
}

/* -1: no number */
static int number(struct maker *m)
{
	int v = -1;

	for (; m->p < m->end && *m->p >= '0' && *m->p <= '9'; m->p++) {
		v = (v < 0 ? 0 : v) * 10 + (*m->p - '0');
		if (v > REPEAT_MOST)
			v = REPEAT_MOST + 1;
	}
	return v;
}

/* what follows a '{' */
static void interval(struct maker *m)
{
	int least = number(m), most = least;
	bool comma = m->p < m->end && *m->p == ',';

	if (comma) {
		m->p++;
		most = number(m);
	}
	if (m->p >= m->end || *m->p != '}' || (least < 0 && !comma) ||
	    (most >= 0 && most < least)) {
		wrong(m, RAMA_EUSAGE, "wrong {repetition}");
		return;
	}
	m->p++;
	if (least > REPEAT_MOST || most > REPEAT_MOST) {
		wrong(m, RAMA_ELIMIT, "too many repetitions");
		return;
	}
	repeat(m, least < 0 ? 0 : least, most);
}

static void repetition(struct maker *m, unsigned char c)
{
	if (m->atom < 0)
		wrong(m, RAMA_EUSAGE, "nothing to repeat");
	else if (c == '{')
		interval(m);
	else
		repeat(m, c == '+', c == '?' ? 1 : -1);
}

/* cannot be repeated, as in libc */
static void assertion(struct maker *m, enum place place)
{
	emit(m, NODE_ASSERT, place, 0);
	m->atom = -1;
}

/* what follows a backslash; the letters that mean something are GNU's */
static void escape(struct maker *m)
{
	static const char places[] = "`'bB<>";
	const char *place;
	unsigned char c;

	if (m->p >= m->end) {
		wrong(m, RAMA_EUSAGE, "backslash at the end");
		return;
	}
	c = *m->p++;
	place = c != '\0' ? strchr(places, c) : NULL;
	if (place != NULL)
		assertion(m, (enum place)(place - places));
	else if (c == 'w' || c == 'W' || c == 's' || c == 'S')
		escaped_set(m, c);
	else if (c >= '1' && c <= '9')
		wrong(m, RAMA_EUSAGE, "back-references are not supported");
	else
		emit_atom(m, NODE_CHAR, c, 0);
}

static void regex_step(struct maker *m)
{
	unsigned char c = *m->p++;

	switch (c) {
	case '(':
		group_open(m);
		break;
	case ')':
		if (m->depth > 1)
			group_close(m);
		else
			emit_atom(m, NODE_CHAR, c, 0);
		break;
	case '|':
		alternative(m);
		break;
	case '*':
	case '+':
	case '?':
	case '{':
		repetition(m, c);
		break;
	case '^':
	case '$':
		assertion(m, c == '^' ? AT_BEGIN : AT_END);
		break;
	case '.':
		emit_atom(m, NODE_ANY, 0, 0);
		break;
	case '[':
		bracket(m, false);
		break;
	case '\\':
		escape(m);
		break;
	default:
		emit_atom(m, NODE_CHAR, c, 0);
	}
}

static void regex(struct maker *m)
{
	group_open(m);
	while (m->p < m->end && m->error == 0)
		regex_step(m);
	if (m->error == 0 && m->depth > 1)
		wrong(m, RAMA_EUSAGE, "( without )");
	if (m->error == 0)
		group_close(m);
}

/* ---- globs ----------------------------------------------------------------------------------- */

/* a '[' that is never closed is one like any other character */
static bool glob_bracket_ends(const struct maker *m)
{
	const unsigned char *at = m->p + (m->p < m->end && (*m->p == '!' || *m->p == '^'));

	for (const unsigned char *first = at; at < m->end; at++) {
		if (*at == ']' && at > first)
			return true;
		if (*at == '\\')
			at++;
	}
	return false;
}

static void glob_step(struct maker *m)
{
	unsigned char c = *m->p++;

	if (c == '*') {
		while (m->p < m->end && *m->p == '*')
			m->p++;
		emit_atom(m, NODE_ANY, 0, 0);
		repeat(m, 0, -1);
	} else if (c == '?') {
		emit(m, NODE_ANY, 0, 0);
	} else if (c == '[' && glob_bracket_ends(m)) {
		bracket(m, true);
	} else {
		if (c == '\\' && m->p < m->end)
			c = *m->p++;
		emit(m, NODE_CHAR, c, 0);
	}
}

static void glob(struct maker *m)
{
	emit(m, NODE_ASSERT, AT_BEGIN, 0);
	while (m->p < m->end && m->error == 0)
		glob_step(m);
	emit(m, NODE_ASSERT, AT_END, 0);
}

void rama_patterns_init(struct rama_patterns *ps)
{
	ps->n = ps->n_nodes = ps->n_sets = 0;
}

int rama_patterns_add(struct rama_patterns *ps, enum rama_pattern_kind kind, const char *text,
		      size_t len, const char **why)
{
	const unsigned n_sets = ps->n_sets, left = RAMA_PATTERN_NODES - ps->n_nodes;
	struct maker m = { .ps = ps,
			   .p = (const unsigned char *)text,
			   .end = (const unsigned char *)text + len,
			   .code = ps->node + ps->n_nodes,
			   .most = left < RAMA_PATTERN_STATES ? left : RAMA_PATTERN_STATES,
			   .atom = -1 };

	if (ps->n == RAMA_PATTERNS)
		wrong(&m, RAMA_ELIMIT, "too many patterns");
	if (kind == RAMA_PATTERN_GLOB)
		glob(&m);
	else
		regex(&m);
	emit(&m, NODE_MATCH, 0, 0);
	if (m.error != 0) {
		ps->n_sets = n_sets;
		*why = m.why;
		return m.error;
	}
	ps->pattern[ps->n] = (struct rama_pattern){
		.first = (uint16_t)ps->n_nodes,
		.n = (uint16_t)m.n,
		.anchored = m.code[0].op == NODE_ASSERT && m.code[0].arg == AT_BEGIN,
	};
	ps->n_nodes += m.n;
	return (int)ps->n++;
}

/* ---- pattern match -------------------------------------------------------------------------- */
/* Runs a compiled pattern: keeps the set of nodes that can be reached. */

static bool set_has(const struct rama_pattern_set *set, unsigned c)
{
	return (set->bits[c / 64] >> c % 64 & 1) != 0;
}

struct runner {
	const struct rama_pattern_node *code;
	const unsigned char *text;
	size_t len;
	uint64_t seen[RAMA_PATTERN_STATES / 64];
	uint16_t stack[RAMA_PATTERN_STATES];
	bool found;
};

struct list {
	unsigned n;
	uint16_t node[RAMA_PATTERN_STATES];
};

static bool is_word(const struct runner *r, size_t at)
{
	unsigned char c = r->text[at];

	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_';
}

static bool holds(const struct runner *r, unsigned place, size_t at)
{
	bool before, after;

	if (place == AT_BEGIN)
		return at == 0;
	if (place == AT_END)
		return at == r->len;
	before = at > 0 && is_word(r, at - 1);
	after = at < r->len && is_word(r, at);
	switch (place) {
	case AT_BORDER:
		return before != after;
	case AT_NO_BORDER:
		return before == after;
	case AT_WORD_BEGIN:
		return !before && after;
	default:
		return before && !after;
	}
}

static unsigned push(struct runner *r, unsigned depth, unsigned node)
{
	uint64_t bit = (uint64_t)1 << node % 64;

	if ((r->seen[node / 64] & bit) == 0) {
		r->seen[node / 64] |= bit;
		r->stack[depth++] = (uint16_t)node; /* each node once: it cannot overflow */
	}
	return depth;
}

/* adds the nodes that take a byte and can be reached from `node` without taking one */
static void reach(struct runner *r, struct list *to, unsigned node, size_t at)
{
	unsigned depth = push(r, 0, node);

	while (depth > 0) {
		const struct rama_pattern_node *n;

		node = r->stack[--depth];
		n = &r->code[node];
		if (n->op == NODE_JUMP || n->op == NODE_SPLIT)
			depth = push(r, depth, (unsigned)((int)node + n->to));
		if (n->op == NODE_SPLIT || (n->op == NODE_ASSERT && holds(r, n->arg, at)))
			depth = push(r, depth, node + 1);
		if (n->op == NODE_CHAR || n->op == NODE_ANY || n->op == NODE_SET)
			to->node[to->n++] = (uint16_t)node;
		if (n->op == NODE_MATCH)
			r->found = true;
	}
}

static bool takes(const struct rama_patterns *ps, const struct rama_pattern_node *n,
		  unsigned char c)
{
	if (n->op == NODE_CHAR)
		return n->arg == c;
	return n->op == NODE_ANY || set_has(&ps->set[n->to], c);
}

bool rama_patterns_match(const struct rama_patterns *ps, unsigned pattern, const char *text,
			 size_t len)
{
	const struct rama_pattern *p = &ps->pattern[pattern];
	struct runner r;
	struct list lists[2], *now = &lists[0], *next = &lists[1], *swap;

	r.code = ps->node + p->first;
	r.text = (const unsigned char *)text;
	r.len = len;
	r.found = false;
	memset(r.seen, 0, sizeof(r.seen));
	now->n = 0;
	for (size_t at = 0;; at++) {
		if (at == 0 || !p->anchored)
			reach(&r, now, 0, at);
		if (r.found || at == len || (now->n == 0 && p->anchored))
			return r.found;
		memset(r.seen, 0, sizeof(r.seen));
		next->n = 0;
		for (unsigned i = 0; i < now->n; i++)
			if (takes(ps, &r.code[now->node[i]], r.text[at]))
				reach(&r, next, now->node[i] + 1u, at + 1);
		swap = now;
		now = next;
		next = swap;
	}
}
