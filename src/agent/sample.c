/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/sample.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/map.h"
#include "base/siphash.h"
#include "table/metrics.h"

#define FILE_MOST (1u << 20) /* bytes of a file that are read */
#define WORDS_MOST 32	     /* of a line */
#define THINGS_MOST 512	     /* directories that a * stands for */
#define FIGURES_MOST 8192
#define NAME (sizeof(((struct rama_wire_msg_figure *)0)->metric))

/* a figure of this round */
struct value {
	char name[NAME];
	const struct rama_tab_metric *metric;
	double now, before;
	uint64_t round; /* in which it was read last, the one before that */
	uint64_t last;
};

struct rama_agent_sampler {
	char root[PATH_MAX / 2];
	char *text;
	struct value *value;
	size_t n, room;
	struct rama_map place; /* hash of a name -> place + 1 */
	uint64_t round;
	int64_t t;
	bool has_blocks; /* the root has sys/block, which says what is a disk */
	struct rama_wire_msg_figure *figure;
};

/* ---- figures --------------------------------------------------------------------------------- */

/* names of things become part of a metric's name */
static void thing_text(char *to, size_t room, const char *thing)
{
	size_t n = 0;

	while (*thing == '/')
		thing++;
	for (; *thing != '\0' && n + 1 < room; thing++) {
		char c = *thing;

		to[n++] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
					  (c >= '0' && c <= '9') || c == '-'
				  ? c
				  : '_';
	}
	to[n] = '\0';
}

static bool name_of(char to[NAME], const struct rama_tab_metric *m, const char *thing)
{
	const char *mark = strchr(m->name, '%');
	char text[24];
	int n;

	if (mark == NULL) {
		n = snprintf(to, NAME, "%s", m->name);
	} else {
		thing_text(text, sizeof(text), thing);
		n = snprintf(to, NAME, "%.*s%s%s", (int)(mark - m->name), m->name, text, mark + 1);
	}
	return n > 0 && (size_t)n < NAME;
}

static struct value *value_of(struct rama_agent_sampler *s, const struct rama_tab_metric *m,
			      const char *name)
{
	static const struct rama_sipkey key = { 3, 4 };
	uint64_t *place = rama_map_put(&s->place, rama_siphash(&key, name, strlen(name)), NULL);

	if (place == NULL)
		return NULL;
	if (*place > 0)
		return &s->value[*place - 1];
	if (s->n == FIGURES_MOST)
		return NULL;
	if (!RAMA_GROW(s->value, s->room, s->n + 1))
		return NULL;
	s->value[s->n] = (struct value){ .metric = m };
	memcpy(s->value[s->n].name, name, strlen(name) + 1);
	*place = ++s->n;
	return &s->value[s->n - 1];
}

/* the same name again in this round: added up */
static void put(struct rama_agent_sampler *s, const struct rama_tab_metric *m, const char *thing,
		double v)
{
	struct value *x;
	char name[NAME];

	if (!name_of(name, m, thing))
		return;
	x = value_of(s, m, name);
	if (x == NULL)
		return;
	if (x->round != s->round) {
		x->before = x->now;
		x->last = x->round;
		x->round = s->round;
		x->now = 0;
	}
	x->now += v;
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct line {
	char *word[WORDS_MOST];
	unsigned n;
};

/* Takes a line apart in place, a colon like a blank; returns where the next one begins, NULL at
 * the end. */
static char *next_line(char *p, struct line *l)
{
	l->n = 0;
	if (*p == '\0')
		return NULL;
	while (*p != '\0' && *p != '\n') {
		while (*p == ' ' || *p == '\t' || *p == ':' || *p == '\r')
			*p++ = '\0';
		if (*p == '\0' || *p == '\n')
			break;
		if (l->n < WORDS_MOST)
			l->word[l->n++] = p;
		while (*p != '\0' && strchr(" \t:\r\n", *p) == NULL)
			p++;
	}
	if (*p == '\n')
		*p++ = '\0';
	return p;
}

static bool number(const char *word, double *v)
{
	const char *is = strchr(word, '=');
	char *end;

	word = is != NULL ? is + 1 : word;
	if (!((*word >= '0' && *word <= '9') || *word == '-'))
		return false;
	errno = 0;
	*v = strtod(word, &end);
	return errno == 0 && *end == '\0' && *v >= 0 && *v < 1e20;
}

/* all metrics of a source that this line has; first: where field 1 is */
static void put_line(struct rama_agent_sampler *s, enum rama_tab_metric_source_id source,
		     const char *key, const struct line *l, unsigned first, const char *thing)
{
	for (unsigned i = 0; i < rama_tab_n_metrics; i++) {
		const struct rama_tab_metric *m = &rama_tab_metrics[i];
		unsigned at;
		double v;

		if (m->source != source || strcmp(m->key, key) != 0)
			continue;
		at = first + m->field - 1;
		if (at < l->n && number(l->word[at], &v))
			put(s, m, thing, v * m->scale);
	}
}

static bool has_keys(enum rama_tab_metric_source_id source)
{
	for (unsigned i = 0; i < rama_tab_n_metrics; i++)
		if (rama_tab_metrics[i].source == source)
			return rama_tab_metrics[i].key[0] != '\0';
	return false;
}

static void read_lines(struct rama_agent_sampler *s, enum rama_tab_metric_source_id source,
		       const char *thing)
{
	bool keys = has_keys(source);
	char *p = s->text;
	struct line l;

	while ((p = next_line(p, &l)) != NULL) {
		if (l.n == 0)
			continue;
		if (keys)
			put_line(s, source, l.word[0], &l, 1, thing);
		else
			put_line(s, source, "", &l, 0, thing);
	}
}

/* Is it a disk (of which sys/block knows), a real one? */
static bool is_disk(const struct rama_agent_sampler *s, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	if (strncmp(name, "loop", 4) == 0 || strncmp(name, "ram", 3) == 0 ||
	    strchr(name, '/') != NULL)
		return false;
	if (!s->has_blocks)
		return true;
	snprintf(path, sizeof(path), "%s/sys/block/%.64s", s->root, name);
	return stat(path, &st) == 0;
}

static void read_named(struct rama_agent_sampler *s, enum rama_tab_metric_source_id source,
		       unsigned at)
{
	char *p = s->text;
	struct line l;

	while ((p = next_line(p, &l)) != NULL) {
		const char *thing = l.n > at ? l.word[at] : "";
		double v;

		if (l.n < at + 2 || !number(l.word[at + 1], &v)) /* a heading */
			continue;
		if (source == RAMA_TAB_SOURCE_NET ? strcmp(thing, "lo") == 0 : !is_disk(s, thing))
			continue;
		put_line(s, source, "", &l, at + 1, thing);
	}
}

/* device SERVER:/PATH mounted on DIR with fstype nfs4 statvers=1.1 */
static void read_mounts(struct rama_agent_sampler *s, enum rama_tab_metric_source_id source)
{
	const char *thing = NULL;
	char *p = s->text;
	struct line l;

	while ((p = next_line(p, &l)) != NULL) {
		if (l.n > 0 && strcmp(l.word[0], "device") == 0) {
			thing = NULL;
			for (unsigned i = 2; i + 4 < l.n; i++)
				if (strcmp(l.word[i], "on") == 0 &&
				    strcmp(l.word[i + 2], "with") == 0 &&
				    strncmp(l.word[i + 4], "nfs", 3) == 0)
					thing = l.word[i + 1];
		} else if (l.n > 1 && thing != NULL) {
			put_line(s, source, l.word[0], &l, 1, thing);
		}
	}
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool read_text(struct rama_agent_sampler *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	size_t n = 0;
	ssize_t got = -1;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		while ((got = read(fd, s->text + n, FILE_MOST - n)) > 0)
			n += (size_t)got;
	close(fd);
	s->text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (s->text[i] == '\0')
			s->text[i] = '?';
	return n > 0;
}

static void read_source(struct rama_agent_sampler *s, unsigned source, const char *path,
			const char *thing)
{
	if (!read_text(s, path))
		return;
	switch (rama_tab_metric_sources[source].format) {
	case RAMA_TAB_METRIC_LINES:
		read_lines(s, source, thing);
		break;
	case RAMA_TAB_METRIC_NAMED1:
		read_named(s, source, 0);
		break;
	case RAMA_TAB_METRIC_NAMED3:
		read_named(s, source, 2);
		break;
	case RAMA_TAB_METRIC_MOUNTS:
		read_mounts(s, source);
		break;
	}
}

/* Lustre's directories: scratch-ffff8801, scratch-OST0000-osc-ffff8801: the file system is what
 * comes first */
static void cut_thing(unsigned source, char *thing)
{
	if (source == RAMA_TAB_SOURCE_LLITE || source == RAMA_TAB_SOURCE_OSC ||
	    source == RAMA_TAB_SOURCE_MDC)
		thing[strcspn(thing, "-")] = '\0';
}

/* each directory that the * stands for; returns how many */
static unsigned read_each(struct rama_agent_sampler *s, unsigned source, const char *pattern)
{
	const char *star = strchr(pattern, '*');
	char path[PATH_MAX], thing[64];
	struct dirent *entry;
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%.*s", s->root, (int)(star - pattern), pattern);
	d = opendir(path);
	while (d != NULL && (entry = readdir(d)) != NULL && n < THINGS_MOST) {
		if (entry->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s/%.*s%s%s", s->root, (int)(star - pattern),
			     pattern, entry->d_name, star + 1) >= (int)sizeof(path))
			continue;
		snprintf(thing, sizeof(thing), "%.63s", entry->d_name);
		cut_thing(source, thing);
		read_source(s, source, path, thing);
		n++;
	}
	if (d != NULL)
		closedir(d);
	return n;
}

static void read_any(struct rama_agent_sampler *s, unsigned source)
{
	const struct rama_tab_metric_source *x = &rama_tab_metric_sources[source];
	char path[PATH_MAX];

	if (strchr(x->path, '*') != NULL) {
		if (read_each(s, source, x->path) == 0 && x->other != NULL)
			read_each(s, source, x->other);
	} else if (snprintf(path, sizeof(path), "%s/%s", s->root, x->path) < (int)sizeof(path)) {
		read_source(s, source, path, "");
	}
}

/* ---- the sampler ----------------------------------------------------------------------------- */

int rama_agent_sampler_create(struct rama_agent_sampler **to, const char *root, struct rama_err *e)
{
	struct rama_agent_sampler *s = calloc(1, sizeof(*s));
	char path[PATH_MAX];
	struct stat st;

	*to = NULL;
	if (s != NULL) {
		s->text = malloc(FILE_MOST + 1);
		s->figure = malloc(FIGURES_MOST * sizeof(*s->figure));
	}
	if (s == NULL || s->text == NULL || s->figure == NULL) {
		if (s != NULL)
			rama_agent_sampler_destroy(s);
		return rama_err_no_memory(e);
	}
	if (root == NULL ||
	    (size_t)snprintf(s->root, sizeof(s->root), "%s", root) >= sizeof(s->root))
		s->root[0] = '\0';
	snprintf(path, sizeof(path), "%s/sys/block", s->root);
	s->round = 1; /* 0: never */
	s->has_blocks = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	*to = s;
	return 0;
}

void rama_agent_sampler_destroy(struct rama_agent_sampler *s)
{
	rama_map_fini(&s->place);
	free(s->value);
	free(s->text);
	free(s->figure);
	free(s);
}

/* A counter that went back was begun anew: it has no gain to tell. */
static bool told(const struct rama_agent_sampler *s, const struct value *x, double seconds,
		 double *v)
{
	if (x->round != s->round)
		return false;
	if (x->metric->how == RAMA_TAB_METRIC_HOW_GAUGE) {
		*v = x->now;
		return true;
	}
	if (x->last + 1 != s->round || seconds <= 0 || x->now < x->before)
		return false;
	*v = (x->now - x->before) / seconds;
	return true;
}

int64_t rama_agent_sampler_take(struct rama_agent_sampler *s, int64_t t,
				struct rama_wire_msg_figure **figure, struct rama_err *e)
{
	double seconds = (double)(t - s->t) / 1e9, v;
	int64_t n = 0;

	(void)e;
	s->round++;
	s->t = t;
	for (unsigned i = 0; i < RAMA_TAB_SOURCES; i++)
		read_any(s, i);
	for (size_t i = 0; i < s->n; i++)
		if (told(s, &s->value[i], seconds, &v)) {
			memcpy(s->figure[n].metric, s->value[i].name, NAME);
			s->figure[n++].value = v;
		}
	*figure = s->figure;
	return n;
}
