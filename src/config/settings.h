/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.h: what user and site ask for: built-in values, then a config file, then the
 * environment. Used inside the observed process: no memory but the caller's struct, no I/O, no
 * environment of its own. Every variable is a row of table/settings.def. */
#ifndef RAMA_CONFIG_SETTINGS_H
#define RAMA_CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pattern.h"
#include "table/settings.h"
#include "table/table.h"

#define RAMA_CONFIG_SETTINGS_RANGES 64
#define RAMA_CONFIG_SETTINGS_RULES RAMA_PATTERNS
#define RAMA_CONFIG_SETTINGS_PATH 4096
#define RAMA_CONFIG_SETTINGS_FILE 32768 /* bytes of a config file that are read, and a NUL */
#define RAMA_CONFIG_SETTINGS_ANY UINT32_MAX
#define RAMA_CONFIG_SETTINGS_FOLDER \
	512 /* a longer name of a directory of the launcher says nothing */
/* rows E of excluded.def */
#define X(...)
#define R(...)
#define F(...)
#define T(...)
#define N(...)
#define M(...)
#define E(...) +1
enum {
	RAMA_CONFIG_SETTINGS_SESSIONS = 0
#include "table/excluded.def"
};
#undef X
#undef R
#undef F
#undef T
#undef N
#undef M
#undef E
/* the modules that IORAMA_TRACE switches on: a bit each */
static const uint64_t RAMA_CONFIG_SETTINGS_TRACED = 0
#define TRACED(layer, word, name, module) | (uint64_t)1 << RAMA_TAB_MOD_##module
#include "table/layers.def"
	;

/* what a pattern decides about */
enum rama_config_rule_use {
	RAMA_CONFIG_RULE_APP_EXCLUDE,
	RAMA_CONFIG_RULE_APP_INCLUDE,
	RAMA_CONFIG_RULE_NAME_EXCLUDE,
	RAMA_CONFIG_RULE_NAME_INCLUDE,
	RAMA_CONFIG_RULE_PATH_EXCLUDE, /* IORAMA_EXCLUDE */
	RAMA_CONFIG_RULE_PATH_INCLUDE, /* IORAMA_INCLUDE */
	RAMA_CONFIG_RULE_USES
};

struct rama_config_rule {
	uint64_t modules; /* bit per module it is for */
	uint8_t use, pattern;
};

struct rama_config_rank_range {
	int64_t first, last; /* both included */
	bool include;
};

struct rama_config_settings {
	bool disabled;	 /* do nothing at all */
	bool nonmpi;	 /* treat each process of an MPI program as one by itself */
	bool dump;	 /* say the settings at the start */
	bool timing;	 /* say how long the end takes */
	bool keep_ranks; /* no reduction of shared records */
	bool trace;	 /* IORAMA_TRACE=1: no small limit for traces */
	bool no_trace;	 /* IORAMA_TRACE=0 */
	bool sites;	 /* IORAMA_SITES */

	uint64_t modules; /* bit per module of the log that is on */
	uint64_t mod_enable, mod_disable;
	/* most records of a module, RAMA_CONFIG_SETTINGS_ANY: nobody said; DXT_*: KiB of trace */
	uint32_t records[RAMA_TAB_MODULES];
	uint64_t memory;       /* IORAMA_MEMORY: bytes for records and names */
	uint64_t mod_memory;   /* bytes for records of all modules; 0: not asked for */
	uint64_t name_memory;  /* bytes for names; 0: not asked for */
	uint64_t trace_memory; /* IORAMA_TRACE_MEMORY */
	bool has_trace_memory; /* somebody gave it */
	/* set by who uses it: a file server may keep its files below /var or /opt, too */
	bool everywhere;
	uint32_t live;	      /* IORAMA_LIVE: bit per layer of table/layers.def */
	uint64_t live_memory; /* IORAMA_LIVE_MEMORY */
	uint64_t least_bytes; /* IORAMA_LEAST_BYTES; 0: not asked for */
	double least_seconds; /* IORAMA_LEAST_SECONDS; 0: not asked for */
	int64_t mem_align;    /* at least 1 */
	double small_trigger, unaligned_trigger; /* negative: none */

	bool has_jobid;
	int64_t jobid; /* IORAMA_JOBID */
	bool has_run_jobid;
	int64_t run_jobid;	 /* IORAMA_RUN_JOBID: where no batch system gives one */
	char jobid_variable[64]; /* variable that holds the job's id, "": none named */
	char job[64];		 /* IORAMA_JOB, "": each process writes its own log */
	char live_tag[64];	 /* IORAMA_LIVE_TAG */
	char log_hints[512];

	/* "": not given */
	char dir[RAMA_CONFIG_SETTINGS_PATH];	  /* of the segments: IORAMA_DIR */
	char log_file[RAMA_CONFIG_SETTINGS_PATH]; /* this very file: IORAMA_LOG, DARSHAN_LOGFILE */
	char log_dir[RAMA_CONFIG_SETTINGS_PATH];  /* no folders below it: IORAMA_LOG_DIR */
	char log_path[RAMA_CONFIG_SETTINGS_PATH]; /* year/month/day below it: DARSHAN_LOGPATH */

	/* directories of the launcher (excluded.def), "": none; temp: $TMPDIR unless it is /tmp */
	char temp[RAMA_CONFIG_SETTINGS_FOLDER];
	char session[RAMA_CONFIG_SETTINGS_SESSIONS][RAMA_CONFIG_SETTINGS_FOLDER];

	unsigned n_ranges, n_rules;
	struct rama_config_rank_range range[RAMA_CONFIG_SETTINGS_RANGES];
	struct rama_config_rule rule[RAMA_CONFIG_SETTINGS_RULES];
	uint64_t rule_modules[RAMA_CONFIG_RULE_USES]; /* modules that have rules of a use */
	struct rama_patterns patterns;

	char warnings[1024]; /* a line each; what does not fit is left out */
	unsigned line;	     /* of the config file that is being read; 0: none is */
	unsigned n_warnings; /* all of them */
};

/* value of a variable, or NULL */
typedef const char *(*rama_config_lookup)(void *ctx, const char *name);

/* In this order. Each of them leaves usable settings whatever it is given. */
void rama_config_settings_init(struct rama_config_settings *s);
void rama_config_settings_file(struct rama_config_settings *s, const char *text, size_t len);
void rama_config_settings_env(struct rama_config_settings *s, rama_config_lookup lookup, void *ctx);

/* part of the above: directories that launchers name */
void rama_config_settings_folders(struct rama_config_settings *s, rama_config_lookup lookup,
				  void *ctx);

/* Layers by their words, joined by commas; 1 or all: all of them. false: one is not known */
bool rama_config_settings_layers(const char *text, size_t n, uint32_t *layers);

/* The config file to read between init and env; NULL or "": none. */
const char *rama_config_settings_config(rama_config_lookup lookup, void *ctx);

static inline bool rama_config_settings_module(const struct rama_config_settings *s,
					       unsigned module)
{
	return module < RAMA_TAB_MODULES && (s->modules >> module & 1) != 0;
}

/* Is the module on, and may it make a record of this (cleaned) name? */
bool rama_config_settings_observes(const struct rama_config_settings *s, unsigned module,
				   const char *path, size_t len);
/* Is it a file that an MPI library keeps for itself, or a note of ours? */
bool rama_config_settings_private(const struct rama_config_settings *s, const char *path,
				  size_t len);
/* Records of a module that a process may have at most: MAX_RECORDS, and what fits into MODMEM. */
uint32_t rama_config_settings_records(const struct rama_config_settings *s, unsigned module);
/* bytes that records of all modules together may take, and those of one record of a module
 * there; 0: it does not count */
uint64_t rama_config_settings_pool(const struct rama_config_settings *s);
uint32_t rama_config_settings_record(unsigned module);
/* Is this program to be observed? Its name is the first word of the command line. */
/* Is it a launcher (launchers.def), which is not observed without iorama run? Not if
 * DARSHAN_APP_INCLUDE names it. */
bool rama_config_settings_launcher(const struct rama_config_settings *s, const char *app,
				   size_t len);
bool rama_config_settings_app(const struct rama_config_settings *s, const char *app, size_t len);
/* Does this rank record anything? */
bool rama_config_settings_rank(const struct rama_config_settings *s, int64_t rank);
/* bytes that events of this process may take; 0: nothing is traced */
uint64_t rama_config_settings_trace_memory(const struct rama_config_settings *s);

#endif
