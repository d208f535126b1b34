/* SPDX-License-Identifier: BSD-3-Clause */
/* pattern_match.c: runs a compiled pattern: keeps the set of nodes that can be reached. */
#include <string.h>

#include "base/pattern.h"
#include "base/pattern_node.h"

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

	if (place == RAMA_AT_BEGIN)
		return at == 0;
	if (place == RAMA_AT_END)
		return at == r->len;
	before = at > 0 && is_word(r, at - 1);
	after = at < r->len && is_word(r, at);
	switch (place) {
	case RAMA_AT_BORDER:
		return before != after;
	case RAMA_AT_NO_BORDER:
		return before == after;
	case RAMA_AT_WORD_BEGIN:
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
		if (n->op == RAMA_NODE_JUMP || n->op == RAMA_NODE_SPLIT)
			depth = push(r, depth, (unsigned)((int)node + n->to));
		if (n->op == RAMA_NODE_SPLIT || (n->op == RAMA_NODE_ASSERT && holds(r, n->arg, at)))
			depth = push(r, depth, node + 1);
		if (n->op == RAMA_NODE_CHAR || n->op == RAMA_NODE_ANY || n->op == RAMA_NODE_SET)
			to->node[to->n++] = (uint16_t)node;
		if (n->op == RAMA_NODE_MATCH)
			r->found = true;
	}
}

static bool takes(const struct rama_patterns *ps, const struct rama_pattern_node *n,
		  unsigned char c)
{
	if (n->op == RAMA_NODE_CHAR)
		return n->arg == c;
	return n->op == RAMA_NODE_ANY || set_has(&ps->set[n->to], c);
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
