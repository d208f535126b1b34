/* SPDX-License-Identifier: BSD-3-Clause */
/* identity.c: who this process is, what was asked of us, and what time it is. */
#include <linux/limits.h>
#include <sys/resource.h>
#include <time.h>

#include "capture/attach.h"
#include "capture/before.h"
#include "config/jobid.h"
#include "config/text.h"
#include "table/layers.h"

extern char **environ;

size_t rama_cap_sys_slurp(const char *path, char *buf, size_t size)
{
	int fd = rama_cap_sys_open(path, O_RDONLY, 0);
	size_t used = 0;

	buf[0] = '\0';
	if (fd < 0)
		return 0;
	while (used < size - 1) {
		long n = rama_cap_sys3(SYS_read, fd, buf + used, size - 1 - used);
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	rama_cap_sys_close(fd);
	buf[used] = '\0';
	return used;
}

/* By an error that is not told before the path was looked at; else the system says whether it
 * can be read: a copy made by it fails where one of ours would end the process. */
bool rama_cap_path_was_read(const char *path, int error)
{
	char part[256];
	size_t at = 0;

	if (error == EFAULT)
		return false;
	if (error == ENOENT || error == EACCES || error == EEXIST || error == ENOTDIR)
		return true;
	while (path && at < 2 * PATH_MAX) { /* what is too long is told with this error, too */
		size_t n = sizeof(part) - ((uintptr_t)path + at) % sizeof(part);
		struct iovec to = { part, n }, from = { (char *)(uintptr_t)path + at, n };

		if (rama_cap_sys6(SYS_process_vm_readv, rama_cap_run.pid, (long)&to, 1, (long)&from,
				  1, 0) != (long)n)
			return false;
		if (memchr(part, '\0', n))
			return true;
		at += n;
	}
	return false;
}

const char *rama_cap_variable(const char *name)
{
	size_t n = strlen(name);
	const char *handed = rama_cap_attach_variable(name, n);

	if (handed)
		return handed;
	for (char **e = environ; e && *e; e++) /* most of them begin otherwise */
		if ((*e)[0] == name[0] && strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

static void put(char *to, size_t size, const char *from)
{
	size_t n = strnlen(from, size - 1);

	memcpy(to, from, n);
	to[n] = '\0';
}

static void read_command(struct rama_seg_identity *id)
{
	size_t n = rama_cap_sys_slurp("/proc/self/cmdline", id->command, sizeof(id->command));

	for (size_t i = 0; i < n; i++)
		if (id->command[i] == '\0')
			id->command[i] = ' ';
	char *line = memchr(id->command, '\n', n);
	if (line)
		*line = '\0';
	long len = rama_cap_sys6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)id->exe,
				 sizeof(id->exe) - 1, 0, 0);
	id->exe[len > 0 ? len : 0] = '\0';
}

/* field 22 of /proc/self/stat, counted after the name, which may hold anything */
static uint64_t read_start(void)
{
	char text[1024], *p;
	uint64_t v = 0;

	rama_cap_sys_slurp("/proc/self/stat", text, sizeof(text));
	p = strrchr(text, ')');
	for (unsigned field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	for (p = p ? p + 1 : text + strlen(text); *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	return v;
}

static uint64_t ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t rama_cap_ticks_slow(void)
{
	if (rama_cap_quiet) /* calls that were at work when it came */
		return rama_cap_run.id->clock.tick1;
	return ns(CLOCK_MONOTONIC);
}

/* The counter of the processor is used only where the kernel itself trusts it. */
void rama_cap_choose_clock(void)
{
#if defined(__x86_64__)
	char source[16];

	rama_cap_sys_slurp("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			   source, sizeof(source));
	rama_cap_run.clock =
		strncmp(source, "tsc", 3) == 0 ? RAMA_SEG_CLOCK_TSC : RAMA_SEG_CLOCK_MONOTONIC;
#elif defined(__aarch64__)
	rama_cap_run.clock = RAMA_SEG_CLOCK_TSC;
#else
	rama_cap_run.clock = RAMA_SEG_CLOCK_MONOTONIC;
#endif
}

/* The three clocks as they stand at one moment. What comes between two readings puts them apart:
 * of some tries that counts which took the least time. */
void rama_cap_clock_pair(uint64_t *tick, uint64_t *mono, uint64_t *real)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < 4; i++) {
		uint64_t before = rama_cap_ticks(), r = ns(CLOCK_REALTIME),
			 between = rama_cap_ticks();
		uint64_t m = ns(CLOCK_MONOTONIC), after = rama_cap_ticks();

		if (after - before >= least)
			continue;
		least = after - before;
		*tick = between;
		*real = r;
		*mono = m;
	}
}

bool rama_cap_usage(struct rama_seg_usage *to)
{
	struct rusage used;

	if (rama_cap_sys3(SYS_getrusage, RUSAGE_SELF, &used, 0) != 0)
		return false;
	*to = (struct rama_seg_usage){
		.major_faults = (uint64_t)used.ru_majflt,
		.user_us =
			(uint64_t)used.ru_utime.tv_sec * 1000000u + (uint64_t)used.ru_utime.tv_usec,
		.system_us =
			(uint64_t)used.ru_stime.tv_sec * 1000000u + (uint64_t)used.ru_stime.tv_usec,
	};
	return true;
}

void rama_cap_usage_end(void)
{
	struct rama_seg_state *s = rama_cap_run.state;

	if (s->usage_known > 0)
		s->usage_known = rama_cap_usage(&s->usage[1]) ? 2 : 1;
}

static const char *lookup(void *ctx, const char *name)
{
	(void)ctx;
	return rama_cap_variable(name);
}

void rama_cap_read_settings(void)
{
	struct rama_config_settings *s = rama_cap_run.settings;
	const char *config = rama_config_settings_config(lookup, NULL);
	static char text[RAMA_CONFIG_SETTINGS_FILE];

	rama_config_settings_init(s);
	if (config && config[0])
		rama_config_settings_file(s, text, rama_cap_sys_slurp(config, text, sizeof(text)));
	rama_config_settings_env(s, lookup, NULL);
}

static void describe(struct rama_seg_identity *id)
{
	const struct rama_config_settings *s = rama_cap_run.settings;
	struct rama_config_jobid job;
	struct {
		char sysname[65], nodename[65], release[65], version[65], machine[65], domain[65];
	} host;

	memset(id, 0, sizeof(*id));
	id->rank = -1;
	id->pid = rama_cap_run.pid;
	id->ppid = rama_cap_sys3(SYS_getppid, 0, 0, 0);
	id->uid = rama_cap_sys3(SYS_getuid, 0, 0, 0);
	id->pid_start = read_start();
	rama_cap_sys_slurp("/proc/sys/kernel/random/boot_id", id->boot, 37);
	if (rama_cap_sys3(SYS_uname, &host, 0, 0) == 0)
		put(id->host, sizeof(id->host), host.nodename);
	for (char *p = id->host; *p; p++)
		if (*p == '/')
			*p = '_';
	id->flags = (rama_cap_run.forked ? RAMA_SEG_FORKED : 0) | (s->job[0] ? 0 : RAMA_SEG_BARE);
#ifdef RAMA_STATIC_WRAP
	id->flags |= RAMA_SEG_STATIC;
#endif
	if (s->has_jobid)
		id->jobid = s->jobid;
	else if (rama_config_jobid_find(&job, s->jobid_variable, lookup, NULL))
		id->jobid = job.id;
	else if (s->has_run_jobid)
		id->jobid = s->run_jobid;
	else if (rama_cap_run.job_pid)
		id->jobid = rama_cap_run.job_pid;
	else
		id->jobid = rama_cap_run.pid;
	if (!rama_cap_run.job_pid)
		rama_cap_run.job_pid = id->jobid;
	rama_config_jobid_words(id->batch, sizeof(id->batch), lookup, NULL);
	id->mem_align = s->mem_align;
	id->small_trigger = s->small_trigger;
	id->unaligned_trigger = s->unaligned_trigger;
	for (unsigned i = 0; i < RAMA_SEG_EVENT_LAYERS; i++)
		if (rama_tab_event_layer[i].trace != 0 &&
		    rama_config_settings_module(s, rama_tab_event_layer[i].trace))
			id->trace |= 1u << i;
	put(id->tag, sizeof(id->tag), s->live_tag);
	read_command(id);
}

bool rama_cap_wanted(const struct rama_seg_identity *id)
{
	size_t n = strcspn(id->command, " ");

	if (!rama_cap_variable("IORAMA_RUN_HOST") &&
	    rama_config_settings_launcher(rama_cap_run.settings, id->command, n))
		return false;
	return rama_config_settings_app(rama_cap_run.settings, id->command, n);
}

/* steps of one job of a batch system end each for itself */
static void name_step(struct rama_config_text *t, const char *batch)
{
	static const char key[] = "iorama_step=";

	if (strncmp(batch, key, sizeof(key) - 1) != 0) /* the first row of table/batch.def */
		return;
	batch += sizeof(key) - 1;
	rama_config_text_str(t, ".");
	rama_config_text_put(t, batch, strcspn(batch, "\n"));
}

static void name_job(struct rama_seg_identity *id)
{
	struct rama_config_text t;

	rama_config_text_init(&t, id->job, sizeof(id->job));
	if (rama_cap_run.settings->job[0]) {
		rama_config_text_str(&t, rama_cap_run.settings->job);
	} else if (rama_cap_run.job[0]) {
		rama_config_text_str(&t, rama_cap_run.job);
	} else {
		rama_config_text_str(&t, "bare.");
		rama_config_text_i64(&t, id->jobid);
		name_step(&t, id->batch);
	}
	for (char *p = id->job; *p; p++)
		if (*p == '/' || (*p == '.' && p == id->job))
			*p = '_';
}

/* A forked process is of its family's job; the program that it becomes knows nothing of that
 * family. */
bool rama_cap_hand_on(void)
{
	const struct rama_config_settings *s = rama_cap_run.settings;
	char name[sizeof(rama_cap_run.job)];
	struct rama_config_jobid job;
	struct rama_config_text t;

	if (rama_cap_run.unlinked || !rama_cap_run.path[0] || rama_cap_run.job[0] ||
	    (uint64_t)rama_cap_sys3(SYS_geteuid, 0, 0, 0) != rama_cap_run.euid ||
	    rama_cap_before_count() + 1 >= RAMA_CAP_BEFORE_MOST)
		return false;
	if (s->has_jobid || s->has_run_jobid || rama_cap_run.id->jobid == rama_cap_run.pid ||
	    rama_config_jobid_find(&job, s->jobid_variable, lookup, NULL))
		return true;
	rama_config_text_init(&t, name, sizeof(name));
	rama_config_text_str(&t, "bare.");
	rama_config_text_i64(&t, rama_cap_run.pid);
	return rama_cap_move_segment(name);
}

bool rama_cap_by_run(void)
{
	const char *host = rama_cap_variable("IORAMA_RUN_HOST");

	return host && strncmp(host, rama_cap_run.id->host, sizeof(rama_cap_run.id->host) - 1) == 0;
}

void rama_cap_identify(struct rama_seg_identity *id)
{
	describe(id);
	name_job(id);
}

/* how fast the counter runs: two readings, apart by what creating the segment took */
double rama_cap_measure_hz(const struct rama_seg_ticks *c)
{
	uint64_t tick, mono, real;

#if defined(__aarch64__)
	uint64_t hz;
	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return (double)hz;
#endif
	if (c->source == RAMA_SEG_CLOCK_MONOTONIC)
		return 1e9;
	do
		rama_cap_clock_pair(&tick, &mono, &real);
	while (mono - c->mono0 < 100000);
	return (double)(tick - c->tick0) * 1e9 / (double)(mono - c->mono0);
}
