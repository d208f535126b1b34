/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/clock.h"

#include <string.h>
#include <time.h>

#define SECOND 1000000000
#define BLUR_GOOD 4000	  /* ns: readings further apart are worth less than the line so far ... */
#define GOOD_FOR 10	  /* s: ... up to so long after the last good one; */
#define BLUR_MOST 50000	  /* ns: and these ... */
#define MOST_FOR 60	  /* s: ... for so long */
#define CORNER_MOST 10	  /* s from one corner to the next, at most */
#define TOLERANCE 1000.0  /* ns by which the line may miss a reading, beside its blur */
#define STEP_LEAST 5000.0 /* ns: less than this, and */
/* less than this share of the time between, is no step: clocks are never slewed faster */
#define STEP_SLOPE 0.0006
#define TRIES 20

/* ---- lines ----------------------------------------------------------------------------------- */

/* doubles that come from damaged segments stay numbers */
static int64_t whole(double ns)
{
	return ns > -9e18 && ns < 9e18 ? (int64_t)ns : 0;
}

static double ticks_between(uint64_t from, uint64_t to)
{
	return to >= from ? (double)(to - from) : -(double)(from - to);
}

/* by how much the real clock moved more than the one that nobody sets */
static double moved(const struct rama_seg_clock_pair *a, const struct rama_seg_clock_pair *b)
{
	return (double)(int64_t)(b->real - a->real) - (double)(int64_t)(b->mono - a->mono);
}

static bool was_set(const struct rama_seg_clock_pair *a, const struct rama_seg_clock_pair *b)
{
	double d = moved(a, b), time = (double)(int64_t)(b->mono - a->mono);
	double most = STEP_LEAST + (double)(a->blur + b->blur) + STEP_SLOPE * time;

	return d > most || d < -most;
}

/* real ns per tick from a to b; across a step the other clock says it */
static double slope(const struct rama_seg_clock_pair *a, const struct rama_seg_clock_pair *b)
{
	double ns = was_set(a, b) ? (double)(int64_t)(b->mono - a->mono)
				  : (double)(int64_t)(b->real - a->real);

	return ns / ticks_between(a->tick, b->tick);
}

static int64_t along(const struct rama_seg_clock_pair *from, double ns_per_tick, uint64_t tick)
{
	return (int64_t)(from->real +
			 (uint64_t)whole(ticks_between(from->tick, tick) * ns_per_tick));
}

/* ---- readings come --------------------------------------------------------------------------- */

/* the slopes from a that come near enough to b */
static void narrow(struct rama_seg_clock *c, const struct rama_seg_clock_pair *a,
		   const struct rama_seg_clock_pair *b)
{
	double ticks = ticks_between(a->tick, b->tick), s = slope(a, b);
	double give = (TOLERANCE + (double)b->blur / 2) / ticks;

	if (c->low > c->high) {
		c->low = s - give;
		c->high = s + give;
		return;
	}
	c->low = s - give > c->low ? s - give : c->low;
	c->high = s + give < c->high ? s + give : c->high;
}

static void append(struct rama_seg_clock *c, const struct rama_seg_clock_pair *p)
{
	if (c->n == RAMA_SEG_CLOCK_PAIRS) {
		memmove(c->pair, c->pair + 1, (RAMA_SEG_CLOCK_PAIRS - 1) * sizeof(c->pair[0]));
		c->n--;
	}
	c->pair[c->n++] = *p;
	c->low = 1;
	c->high = 0;
}

/* Does the line from the last corner go on to this reading, with all since still on it? */
static bool goes_on(const struct rama_seg_clock *c, const struct rama_seg_clock_pair *p)
{
	const struct rama_seg_clock_pair *corner;
	double s;

	if (c->n < 2 || c->low > c->high)
		return false;
	corner = &c->pair[c->n - 2];
	s = slope(corner, p);
	return s >= c->low && s <= c->high &&
	       p->mono - corner->mono < (uint64_t)CORNER_MOST * SECOND;
}

/* The machine was busy elsewhere between the readings: the line goes on as it was. */
static bool is_worse(const struct rama_seg_clock_pair *last, const struct rama_seg_clock_pair *p)
{
	uint64_t since = p->mono - last->mono;

	if (p->blur <= last->blur)
		return false;
	return (p->blur > BLUR_GOOD && since < (uint64_t)GOOD_FOR * SECOND) ||
	       (p->blur > BLUR_MOST && since < (uint64_t)MOST_FOR * SECOND);
}

void rama_seg_clock_add(struct rama_seg_clock *c, const struct rama_seg_clock_pair *p)
{
	const struct rama_seg_clock_pair *last = c->n > 0 ? &c->pair[c->n - 1] : NULL;

	if (last == NULL) {
		append(c, p);
		return;
	}
	if (p->tick <= last->tick || p->mono <= last->mono)
		return;
	if (is_worse(last, p))
		return;
	if (was_set(last, p)) {
		c->steps++;
		c->last_step = whole(moved(last, p));
		append(c, p); /* stays, as the moment from which on the new time holds */
		return;
	}
	if (goes_on(c, p)) {
		c->pair[c->n - 1] = *p;
	} else {
		append(c, p);
	}
	narrow(c, &c->pair[c->n - 2], &c->pair[c->n - 1]);
}

/* ---- questions ------------------------------------------------------------------------------- */

static double slope_of(const struct rama_seg_ticks *own)
{
	return own->source == RAMA_SEG_CLOCK_TSC && own->hz > 1e3 && own->hz < 1e12
		       ? SECOND / own->hz
		       : 1.0;
}

/* ns per tick as the readings say it; what the process measured in its first moments may be off
 * by percents */
static double slope_here(const struct rama_seg_clock *c, const struct rama_seg_ticks *own,
			 bool *sure)
{
	const struct rama_seg_clock_pair *a = &c->pair[0], *b = &c->pair[c->n > 0 ? c->n - 1 : 0];

	*sure = c->n > 1 && b->mono - a->mono > SECOND / 100;
	return *sure ? (double)(b->mono - a->mono) / ticks_between(a->tick, b->tick)
		     : slope_of(own);
}

/* Before the first reading: a line from the start of the process's history to it, if the two fit
 * together; else the line of the readings, backwards. */
static int64_t before_first(const struct rama_seg_clock *c, const struct rama_seg_ticks *own,
			    uint64_t tick)
{
	const struct rama_seg_clock_pair start = { .tick = own->tick0,
						   .mono = own->mono0,
						   .real = own->real0 };
	bool sure;
	double s = slope_here(c, own, &sure), most = sure ? 1.01 : 2, line;

	if (c->n == 0)
		return along(&start, s, tick);
	if (own->tick0 < c->pair[0].tick && own->mono0 < c->pair[0].mono) {
		line = slope(&start, &c->pair[0]);
		if (line < s * most && line > s / most)
			return along(&start, line, tick);
	}
	return along(&c->pair[0], s, tick);
}

int64_t rama_seg_clock_real(const struct rama_seg_clock *c, const struct rama_seg_ticks *own,
			    uint64_t tick)
{
	unsigned i = c->n;
	bool sure;

	while (i > 0 && c->pair[i - 1].tick > tick)
		i--;
	if (i == 0)
		return before_first(c, own, tick);
	if (i < c->n)
		return along(&c->pair[i - 1], slope(&c->pair[i - 1], &c->pair[i]), tick);
	if (i > 1)
		return along(&c->pair[i - 1], slope(&c->pair[i - 2], &c->pair[i - 1]), tick);
	return along(&c->pair[0], slope_here(c, own, &sure), tick);
}

int64_t rama_seg_clock_ns(const struct rama_seg_clock *c, const struct rama_seg_ticks *own,
			  uint64_t ticks)
{
	bool sure;

	return whole((double)ticks * slope_here(c, own, &sure));
}

/* ---- the clocks of this machine -------------------------------------------------------------- */

static uint64_t now(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static uint64_t counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	return 0;
#endif
}

static void read_once(enum rama_seg_clock_source source, struct rama_seg_clock_pair *p)
{
	uint64_t m0 = now(CLOCK_MONOTONIC), t0 = counter(), r = now(CLOCK_REALTIME), t1 = counter();
	uint64_t m1 = now(CLOCK_MONOTONIC);

	p->mono = m0 + (m1 - m0) / 2;
	p->real = r;
	p->tick = source == RAMA_SEG_CLOCK_TSC ? t0 + (t1 - t0) / 2 : p->mono;
	p->blur = m1 - m0;
}

void rama_seg_clock_read(enum rama_seg_clock_source source, struct rama_seg_clock_pair *p)
{
	read_once(source, p);
	for (unsigned i = 1; i < TRIES && p->blur > 500; i++) {
		struct rama_seg_clock_pair other;

		read_once(source, &other);
		if (other.blur < p->blur)
			*p = other;
	}
}
