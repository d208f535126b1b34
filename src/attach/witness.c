/* SPDX-License-Identifier: BSD-3-Clause */
#include "attach/witness.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 8
#define PAGES 64 /* of a ring, a power of 2 */
#define CPUS 1024

struct ring {
	unsigned char *at; /* a page of control, then the data */
	int fd[EVENTS];
};

struct rama_attach_witness {
	unsigned n, n_rings;
	uint64_t lost, id[EVENTS * CPUS]; /* the kernel's numbers of what was opened */
	struct ring ring[CPUS];
};

static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

/* the number of a tracepoint; tracefs tells it */
static int number_of(const char *event, uint64_t *id, struct rama_err *e)
{
	const char *colon = strchr(event, ':');
	char path[256], text[32] = "";

	if (colon == NULL || strstr(event, "..") != NULL || strchr(event, '/') != NULL)
		return rama_err_set(e, RAMA_EUSAGE, "'%s' is no tracepoint (GROUP:EVENT)", event);
	for (unsigned i = 0; i < 2; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/events/%.*s/%s/id", places[i],
			 (int)(colon - event), event, colon + 1);
		f = fopen(path, "re");
		if (f != NULL && fgets(text, sizeof(text), f) != NULL)
			*id = strtoull(text, NULL, 10);
		if (f != NULL)
			fclose(f);
		if (text[0] != '\0')
			return 0;
	}
	snprintf(path, sizeof(path), "%s/events", places[0]);
	if (access(path, X_OK) == 0)
		return rama_err_set(e, RAMA_EMISSING, "the kernel has no tracepoint %s", event);
	return rama_err_set(e, RAMA_EUSAGE, "tracefs is %s (mount -t tracefs tracefs %s)",
			    access(places[0], F_OK) == 0 && errno != EACCES ? "not mounted, or not "
									      "for you"
									    : "not there",
			    places[0]);
}

static int open_one(uint64_t id, int cpu, struct rama_err *e)
{
	struct perf_event_attr a = { .type = PERF_TYPE_TRACEPOINT,
				     .size = sizeof(a),
				     .config = id,
				     .sample_period = 1,
				     .sample_type =
					     PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID,
				     .read_format = PERF_FORMAT_ID,
				     .use_clockid = 1,
				     .clockid = CLOCK_MONOTONIC,
				     .wakeup_events = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &a, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		rama_err_set(e, RAMA_EUSAGE,
			     "the system does not allow it (%s): root, CAP_PERFMON, or sysctl "
			     "kernel.perf_event_paranoid=-1",
			     strerror(errno));
	return fd;
}

int rama_attach_witness_can(const char *event, struct rama_err *e)
{
	uint64_t id;
	int rc = number_of(event, &id, e), fd;

	if (rc != 0)
		return rc;
	fd = open_one(id, 0, e);
	if (fd < 0)
		return RAMA_EUSAGE;
	close(fd);
	return 0;
}

/* The second and further events of a processor go into the ring of the first. */
static int open_ring(struct rama_attach_witness *w, int cpu, const uint64_t *number,
		     struct rama_err *e)
{
	struct ring *r = &w->ring[w->n_rings];
	size_t size = (PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);

	for (unsigned i = 0; i < w->n; i++) {
		r->fd[i] = open_one(number[i], cpu, e);
		if (r->fd[i] < 0) {
			while (i-- > 0)
				close(r->fd[i]);
			return RAMA_EUSAGE;
		}
		ioctl(r->fd[i], PERF_EVENT_IOC_ID, &w->id[w->n_rings * EVENTS + i]);
	}
	r->at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd[0], 0);
	w->n_rings++;
	if (r->at == MAP_FAILED) {
		r->at = NULL;
		return rama_err_set(e, RAMA_EUSAGE, "no memory for events of the kernel (%s)",
				    strerror(errno));
	}
	/* which has to be mapped by then */
	for (unsigned i = 1; i < w->n; i++)
		if (ioctl(r->fd[i], PERF_EVENT_IOC_SET_OUTPUT, r->fd[0]) != 0)
			return rama_err_set(e, RAMA_EIO, "events of the kernel: %s",
					    strerror(errno));
	return 0;
}

int rama_attach_witness_begin(struct rama_attach_witness **to, const char *const *event, unsigned n,
			      struct rama_err *e)
{
	struct rama_attach_witness *w = calloc(1, sizeof(*w));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t number[EVENTS];
	int rc = w == NULL ? rama_err_no_memory(e) : 0;

	if (rc == 0 && (n == 0 || n > EVENTS))
		rc = rama_err_set(e, RAMA_EUSAGE, "%u tracepoints: 1 to %d", n, EVENTS);
	for (unsigned i = 0; rc == 0 && i < n; i++)
		rc = number_of(event[i], &number[i], e);
	if (rc == 0)
		w->n = n;
	for (int cpu = 0; rc == 0 && cpu < cpus && cpu < CPUS; cpu++)
		rc = open_ring(w, cpu, number, e);
	if (rc != 0 && w != NULL)
		rama_attach_witness_end(w);
	*to = rc == 0 ? w : NULL;
	return rc;
}

/* bytes of a ring, which goes round */
static void copy(const unsigned char *data, uint64_t size, uint64_t at, void *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((unsigned char *)to)[i] = data[(at + i) & (size - 1)];
}

/* as PERF_SAMPLE_TID, TIME and ID stand there */
struct sample {
	struct perf_event_header head;
	uint32_t pid, tid;
	uint64_t time, id;
};

static void take_ring(struct rama_attach_witness *w, unsigned k,
		      void (*fn)(void *ctx, unsigned i, uint32_t tid, uint64_t t), void *ctx)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = PAGES * page;
	struct perf_event_mmap_page *head = (void *)w->ring[k].at;
	const unsigned char *data = w->ring[k].at + page;
	uint64_t at = head->data_tail, end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE);

	while (at < end) {
		struct perf_event_header h;
		struct sample s;
		uint64_t lost[2];

		copy(data, size, at, &h, sizeof(h));
		if (h.size < sizeof(h))
			break;
		if (h.type == PERF_RECORD_SAMPLE && h.size >= sizeof(s)) {
			copy(data, size, at, &s, sizeof(s));
			for (unsigned i = 0; i < w->n; i++)
				if (w->id[k * EVENTS + i] == s.id)
					fn(ctx, i, s.tid, s.time);
		} else if (h.type == PERF_RECORD_LOST) {
			copy(data, size, at + sizeof(h), lost, sizeof(lost));
			w->lost += lost[1];
		}
		at += h.size;
	}
	__atomic_store_n(&head->data_tail, at, __ATOMIC_RELEASE);
}

uint64_t rama_attach_witness_take(struct rama_attach_witness *w,
				  void (*fn)(void *ctx, unsigned i, uint32_t tid, uint64_t t),
				  void *ctx)
{
	for (unsigned k = 0; k < w->n_rings; k++)
		if (w->ring[k].at != NULL)
			take_ring(w, k, fn, ctx);
	return w->lost;
}

void rama_attach_witness_end(struct rama_attach_witness *w)
{
	for (unsigned k = 0; k < w->n_rings; k++) {
		if (w->ring[k].at != NULL)
			munmap(w->ring[k].at, (PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE));
		for (unsigned i = 0; i < w->n; i++)
			close(w->ring[k].fd[i]);
	}
	free(w);
}
