/* SPDX-License-Identifier: BSD-3-Clause */
/* spank_iorama.c: a plugin of Slurm that has tasks of jobs observed. It is loaded by a line in
 * plugstack.conf (README.md in this folder), where a site says what happens without a word:
 *
 *   optional /usr/lib/iorama/spank_iorama.so default=on partition=gpu:trace log_dir=/logs/iorama
 *
 * and users choose with srun, sbatch and salloc --iorama=on|off|trace|live. It does nothing but set
 * variables of tasks before they begin: no process, no file, no lock. Of iorama it needs no more
 * than the path of the library. Compile: cc -shared -fPIC -o spank_iorama.so spank_iorama.c */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

#ifndef IORAMA_LIBRARY
#define IORAMA_LIBRARY "/usr/lib/libiorama.so"
#endif
#ifndef IORAMA_CONFIG
#define IORAMA_CONFIG "/etc/iorama.conf"
#endif

SPANK_PLUGIN(iorama, 1);

enum choice { UNSAID = -1, OFF, ON, TRACE, LIVE };

#define MOST_PARTITIONS 64
#define TEXT 4096

/* what the line of plugstack.conf says */
static struct {
	enum choice preset;
	struct {
		const char *name;
		size_t len;
		enum choice choice;
	} partition[MOST_PARTITIONS];
	unsigned n_partitions;
	const char *library, *log_dir, *config;
	bool may_not_switch_off;
} site;

static enum choice asked = UNSAID; /* what the user says */

static enum choice choice_of(const char *word)
{
	static const char *const words[] = { "off", "on", "trace", "live" };

	for (int i = 0; i < 4; i++)
		if (strcmp(word, words[i]) == 0)
			return (enum choice)i;
	return UNSAID;
}

/* ---- the option ------------------------------------------------------------------------------ */

static int take_option(int val, const char *word, int remote)
{
	enum choice c = choice_of(word != NULL && *word != '\0' ? word : "on");

	(void)val;
	if (c == UNSAID && remote)
		return 0; /* a job does not fail for us */
	if (c == UNSAID) {
		slurm_error("iorama: --iorama is on, off, trace or live, not '%s'", word);
		return -1;
	}
	asked = c;
	return 0;
}

static struct spank_option option = {
	.name = "iorama",
	.arginfo = "on|off|trace|live",
	.usage = "observe what tasks do with files: counters (on), every access (trace), "
		 "events while it runs (live)",
	.has_arg = 2, /* --iorama alone is --iorama=on */
	.val = 0,
	.cb = take_option,
};

/* ---- the site -------------------------------------------------------------------------------- */

static void add_partition(const char *text)
{
	const char *colon = strchr(text, ':');
	enum choice c = colon != NULL ? choice_of(colon + 1) : UNSAID;

	if (c == UNSAID || site.n_partitions == MOST_PARTITIONS) {
		slurm_error("iorama: partition=%s is left out; it is NAME:on, off, trace or live",
			    text);
		return;
	}
	site.partition[site.n_partitions].name = text;
	site.partition[site.n_partitions].len = (size_t)(colon - text);
	site.partition[site.n_partitions++].choice = c;
}

static void read_word(const char *word)
{
	if (strncmp(word, "default=", 8) == 0 && choice_of(word + 8) != UNSAID)
		site.preset = choice_of(word + 8);
	else if (strncmp(word, "partition=", 10) == 0)
		add_partition(word + 10);
	else if (strncmp(word, "library=", 8) == 0)
		site.library = word + 8;
	else if (strncmp(word, "log_dir=", 8) == 0)
		site.log_dir = word + 8;
	else if (strncmp(word, "config=", 7) == 0)
		site.config = word + 7;
	else if (strcmp(word, "switch_off=no") == 0)
		site.may_not_switch_off = true;
	else if (strcmp(word, "switch_off=yes") != 0)
		slurm_error("iorama: '%s' in plugstack.conf is not known", word);
}

int slurm_spank_init(spank_t sp, int n, char **words)
{
	site.preset = OFF;
	site.library = IORAMA_LIBRARY;
	site.config = IORAMA_CONFIG;
	site.log_dir = "";
	site.n_partitions = 0;
	for (int i = 0; i < n; i++)
		read_word(words[i]);
	if (spank_context() != S_CTX_SLURMD && spank_option_register(sp, &option) != ESPANK_SUCCESS)
		slurm_error("iorama: the option --iorama cannot be registered");
	return 0;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static const char *get(spank_t sp, const char *name, char to[TEXT])
{
	if (spank_getenv(sp, name, to, TEXT) != ESPANK_SUCCESS)
		to[0] = '\0';
	return to;
}

static void set(spank_t sp, const char *name, const char *value, bool over)
{
	spank_setenv(sp, name, value, over);
}

/* What was asked for when the job was submitted holds for its steps, too, as long as they say
 * nothing: that is what the variable is for. */
static enum choice choose(spank_t sp)
{
	char text[TEXT];
	enum choice c = asked;

	if (c == UNSAID)
		c = choice_of(get(sp, "IORAMA_SLURM", text));
	if (c == OFF && site.may_not_switch_off)
		c = UNSAID;
	if (c != UNSAID)
		return c;
	get(sp, "SLURM_JOB_PARTITION", text);
	for (unsigned i = 0; i < site.n_partitions; i++)
		if (strlen(text) == site.partition[i].len &&
		    memcmp(text, site.partition[i].name, site.partition[i].len) == 0)
			return site.partition[i].choice;
	return site.preset;
}

/* Our library first, once, and all that was there behind it: steps inherit what the script has. */
static void preload(spank_t sp, bool on)
{
	char before[TEXT], after[2 * TEXT];
	size_t n = 0;

	get(sp, "LD_PRELOAD", before);
	if (on)
		n = (size_t)snprintf(after, sizeof(after), "%s", site.library);
	after[n] = '\0';
	for (const char *p = before; *p != '\0';) {
		size_t len = strcspn(p, ": ");
		bool ours = len == strlen(site.library) && memcmp(p, site.library, len) == 0;

		if (len > 0 && !ours)
			n += (size_t)snprintf(after + n, sizeof(after) - n, "%s%.*s",
					      n > 0 ? ":" : "", (int)len, p);
		p += len + (p[len] != '\0');
	}
	if (n > 0)
		set(sp, "LD_PRELOAD", after, true);
	else if (before[0] != '\0')
		spank_unsetenv(sp, "LD_PRELOAD");
}

/* where logs go; %u becomes the user's number */
static void place_logs(spank_t sp)
{
	char dir[TEXT];
	uid_t uid = 0;
	size_t n = 0;

	if (*site.log_dir == '\0')
		return;
	spank_get_item(sp, S_JOB_UID, &uid);
	for (const char *p = site.log_dir; *p != '\0' && n + 16 < sizeof(dir); p++) {
		if (p[0] == '%' && p[1] == 'u') {
			n += (size_t)snprintf(dir + n, 16, "%u", (unsigned)uid);
			p++;
		} else {
			dir[n++] = *p;
		}
	}
	dir[n] = '\0';
	set(sp, "IORAMA_LOG_DIR", dir, false);
}

/* All that a script starts is one job, which the epilog makes a log of; steps are their own. */
static void name_job(spank_t sp, uint32_t job, uint32_t step)
{
	char name[64];

	if (step == SLURM_BATCH_SCRIPT) {
		snprintf(name, sizeof(name), "slurm.%u.batch", job);
		set(sp, "IORAMA_JOB", name, true);
	} else {
		spank_unsetenv(sp, "IORAMA_JOB");
	}
}

static void switch_on(spank_t sp, enum choice c, uint32_t job, uint32_t step)
{
	static const char *const words[] = { "off", "on", "trace", "live" };

	preload(sp, true);
	name_job(sp, job, step);
	place_logs(sp);
	if (access(site.config, R_OK) == 0)
		set(sp, "DARSHAN_CONFIG_PATH", site.config, false);
	if (c == TRACE)
		set(sp, "IORAMA_TRACE", "1", true);
	else
		spank_unsetenv(sp, "IORAMA_TRACE");
	if (c == LIVE)
		set(sp, "IORAMA_LIVE", "1", true);
	else
		spank_unsetenv(sp, "IORAMA_LIVE");
	spank_unsetenv(sp, "IORAMA_DISABLE");
	set(sp, "IORAMA_SLURM", words[c], true);
}

/* What the script has comes down to the step, so that to leave it alone would not be off. */
static void switch_off(spank_t sp)
{
	char text[TEXT];

	preload(sp, false);
	if (asked == OFF || get(sp, "IORAMA_SLURM", text)[0] != '\0') {
		set(sp, "IORAMA_DISABLE", "1", true);
		set(sp, "IORAMA_SLURM", "off", true);
	}
}

int slurm_spank_task_init(spank_t sp, int n, char **words)
{
	uint32_t job = 0, step = 0;
	char text[TEXT];
	enum choice c;

	(void)n, (void)words;
	spank_get_item(sp, S_JOB_ID, &job);
	spank_get_item(sp, S_JOB_STEPID, &step);
	if (step == SLURM_EXTERN_CONT)
		return 0;
	/* iorama run sees to its own */
	if (get(sp, "IORAMA_RUN_HOST", text)[0] != '\0')
		return 0;
	c = choose(sp);
	if (c == OFF)
		switch_off(sp);
	else
		switch_on(sp, c, job, step);
	return 0;
}
