/* SPDX-License-Identifier: BSD-3-Clause */
/* schema.c: the tables of the store in SQLite, version by version; docs/format/store.md
 * tells what they mean. A script that was released never changes: what is new is a script of its
 * own. Tables of counters come from table/modules.def. */
#include "store/sqlite/sqlite.h"

#define N "INTEGER NOT NULL"
#define N0 "INTEGER NOT NULL DEFAULT 0"
#define T "TEXT NOT NULL"
#define T0 "TEXT NOT NULL DEFAULT ''"

static const char jobs[] =
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value " T ") STRICT, WITHOUT ROWID;"
	"CREATE TABLE jobs (number INTEGER PRIMARY KEY AUTOINCREMENT, key " T " UNIQUE, name " T0
	", username " T0 ", uid INTEGER NOT NULL DEFAULT -1, jobid " N0 ", command " T0 ", tag " T0
	", start_ns INTEGER, end_ns INTEGER, run_time REAL, nprocs " N0 ", nodes " N0
	", state TEXT NOT NULL DEFAULT 'running', source TEXT NOT NULL DEFAULT 'live', logged " N0
	", pruned " N0 ", bytes_read " N0 ", bytes_written " N0 ", reads " N0 ", writes " N0
	", metas " N0 ", files " N0 ", io_time REAL, meta_time REAL, verdict " T0
	", complete INTEGER, processes " N0 ", made " N0 ", events " N0 ", dropped " N0 ", lost " N0
	", missed " N0 ", max_span " N0 ") STRICT;"
	"CREATE INDEX jobs_start ON jobs (start_ns);"
	"CREATE INDEX jobs_end ON jobs (end_ns);"
	"CREATE INDEX jobs_jobid ON jobs (jobid);"
	"CREATE INDEX jobs_user ON jobs (username, start_ns);"
	"CREATE INDEX jobs_span ON jobs (max_span);"
	/* messages that name a job by the key it had before its processes moved to another */
	"CREATE TABLE aliases (key " T ", job " N ", PRIMARY KEY (key, job)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX aliases_job ON aliases (job);"
	"CREATE TABLE processes (number INTEGER PRIMARY KEY, segment BLOB NOT NULL UNIQUE, job " N
	", rank INTEGER NOT NULL DEFAULT -1, host " T0 ", pid " N0
	", uid INTEGER NOT NULL DEFAULT -1, username " T0 ", jobid " N0 ", nprocs " N0 ", exe " T0
	", command " T0 ", tag " T0 ", start_ns INTEGER, end_ns INTEGER, seen_ns INTEGER"
	", state TEXT NOT NULL DEFAULT 'running', version INTEGER NOT NULL DEFAULT -1, made " N0
	", dropped " N0 ", missed " N0 ", lanes " N0 ", stored " N0 ") STRICT;"
	"CREATE INDEX processes_job ON processes (job, rank);";

static const char of_logs[] =
	"CREATE TABLE files (job " N ", record " N ", path " T
	", PRIMARY KEY (job, record)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE logs (job INTEGER PRIMARY KEY, key " T ", path " T ", size " N ", mtime_ns " N
	", hash " N ", start_ns INTEGER, end_ns INTEGER, nprocs " N0 ", complete " N0 ", kept " N0
	", body BLOB) STRICT;"
	"CREATE INDEX logs_key ON logs (key);"
	"CREATE INDEX logs_path ON logs (path);"
	"CREATE INDEX logs_hash ON logs (hash);"
	/* where logs were that have been taken in, by the hash of their path; also of jobs that
	 * are gone */
	"CREATE TABLE log_places (place INTEGER PRIMARY KEY, size " N ", mtime_ns " N ") STRICT;"
	"CREATE TABLE findings (job " N ", number " N ", rule " T ", level " T ", title " T
	", evidence " T ", advice " T ", cost REAL, bytes REAL"
	", PRIMARY KEY (job, number)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX findings_rule ON findings (rule, job);"
	"CREATE TABLE figure_names (number INTEGER PRIMARY KEY, name " T " UNIQUE) STRICT;"
	"CREATE TABLE figure_values (figure " N ", job " N ", value REAL"
	", PRIMARY KEY (job, figure)) STRICT, WITHOUT ROWID;"
	"CREATE VIEW figures AS SELECT v.job AS job, n.name AS name, v.value AS value"
	" FROM figure_names n JOIN figure_values v ON v.figure = n.number;";

static const char of_time[] =
	"CREATE TABLE sample_series (number INTEGER PRIMARY KEY, host " T ", metric " T
	", UNIQUE (host, metric)) STRICT;"
	"CREATE TABLE sample_values (series " N ", t_ns " N ", value REAL"
	", PRIMARY KEY (series, t_ns)) STRICT, WITHOUT ROWID;"
	"CREATE VIEW samples AS SELECT s.host AS host, s.metric AS metric, v.t_ns AS t_ns,"
	" v.t_ns / 1000000000.0 AS time, v.value AS value"
	" FROM sample_series s JOIN sample_values v ON v.series = s.number;"
	"CREATE TABLE activity (job " N ", t_ns " N ", process " N ", layer " T ", rank " N
	", width_ns " N ", reads " N ", writes " N ", metas " N ", bytes_read " N
	", bytes_written " N ", read_ns " N ", write_ns " N ", meta_ns " N
	", PRIMARY KEY (job, t_ns, process, layer)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX activity_time ON activity (t_ns);"
	"CREATE TABLE rollups (job " N ", second " N ", process " N ", layer " T ", kind " T
	", rank " N ", ops " N ", failed " N ", bytes " N ", ns " N ", longest " N
	", PRIMARY KEY (job, second, process, layer, kind)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX rollups_second ON rollups (second);"
	"CREATE TABLE losses (agent " T ", number " N ", job " N ", why " T ", events " N
	", messages " N ", PRIMARY KEY (agent, number)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX losses_job ON losses (job);"
	/* the three joint orders; SQLite adds the number of the block to each */
	"CREATE TABLE blocks (number INTEGER PRIMARY KEY, process " N ", lane " N ", first " N
	", n " N ", job " N ", rank " N ", t0 " N ", t1 " N ", tid " N ", lost " N
	", body BLOB NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX blocks_lane ON blocks (process, lane, first);"
	"CREATE INDEX blocks_job_rank_time ON blocks (job, rank, t0);"
	"CREATE INDEX blocks_job_time_rank ON blocks (job, t0, rank);"
	"CREATE INDEX blocks_time_job_rank ON blocks (t0, job, rank);";

static const char *const version1[] = { jobs, of_logs, of_time, NULL };

/* Times as people and dashboards take them: seconds since 1970. */
static const char views[] =
	"CREATE VIEW job_times AS SELECT number AS job, key, name, username, state, nprocs, nodes,"
	" start_ns / 1000000000.0 AS start_time, end_ns / 1000000000.0 AS end_time,"
	" strftime('%Y-%m-%dT%H:%M:%SZ', start_ns / 1000000000, 'unixepoch') AS start_text,"
	" strftime('%Y-%m-%dT%H:%M:%SZ', end_ns / 1000000000, 'unixepoch') AS end_text,"
	" run_time, io_time, meta_time, bytes_read, bytes_written, events, lost FROM jobs;"
	"CREATE VIEW activity_times AS SELECT t_ns / 1000000000.0 AS time, job, rank, layer,"
	" bytes_read * 1e9 / width_ns AS read_rate, bytes_written * 1e9 / width_ns AS write_rate,"
	" (reads + writes + metas) * 1e9 / width_ns AS op_rate,"
	" (read_ns + write_ns + meta_ns) * 1.0 / width_ns AS busy FROM activity;"
	"CREATE VIEW rollup_times AS SELECT second AS time, job, rank, layer, kind,"
	" sum(ops) AS ops, sum(failed) AS failed, sum(bytes) AS bytes, sum(ns) / 1e9 AS seconds,"
	" max(longest) / 1e9 AS longest FROM rollups GROUP BY job, second, rank, layer, kind;";

static const char *const version2[] = { views, NULL };

/* What counters of processes stand at, by which gains are known; and what is looked for among
 * all that is running. */
static const char counted[] =
	"CREATE TABLE counted (job " N ", process " N ", layer " T ", version " N ", t_ns " N
	", reads " N ", writes " N ", metas " N ", bytes_read " N ", bytes_written " N
	", read_ns " N ", write_ns " N ", meta_ns " N
	", PRIMARY KEY (process, layer)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX counted_job ON counted (job);"
	"INSERT INTO counted (job, process, layer, version, t_ns, reads, writes, metas, bytes_read,"
	" bytes_written, read_ns, write_ns, meta_ns) SELECT p.job, p.number, a.layer, 0, "
	"max(a.t_ns),"
	" sum(a.reads), sum(a.writes), sum(a.metas), sum(a.bytes_read), sum(a.bytes_written),"
	" sum(a.read_ns), sum(a.write_ns), sum(a.meta_ns) FROM processes p JOIN activity a ON"
	" a.job = p.job AND a.process = p.number WHERE p.state = 'running'"
	" GROUP BY p.job, p.number, a.layer;"
	"ALTER TABLE jobs ADD COLUMN seen_ns INTEGER;"
	"UPDATE jobs SET seen_ns = (SELECT max(p.seen_ns) FROM processes p WHERE p.job = "
	"jobs.number)"
	" WHERE state = 'running';"
	"CREATE INDEX jobs_seen ON jobs (seen_ns) WHERE state = 'running';"
	"CREATE INDEX processes_running ON processes (seen_ns) WHERE state = 'running';";

/* Lists of jobs in any order that people ask for, a page at a time: SQLite adds the number of
 * the job to each index, which decides among equals. cost: seconds of the findings HIGH and
 * WARN, said once. */
static const char lists[] =
	"ALTER TABLE jobs ADD COLUMN cost REAL;"
	"UPDATE jobs SET cost = (SELECT sum(coalesce(f.cost, 0)) FROM findings f WHERE f.job = "
	"jobs.number"
	" AND f.level IN ('HIGH', 'WARN'));"
	"CREATE INDEX jobs_running ON jobs (start_ns) WHERE state = 'running';"
	"CREATE INDEX jobs_by_user ON jobs (username);"
	"CREATE INDEX jobs_by_name ON jobs (name);"
	"CREATE INDEX jobs_name ON jobs (name, start_ns);"
	"CREATE INDEX jobs_by_cost ON jobs (cost);"
	"CREATE INDEX jobs_by_bytes ON jobs"
	" (CAST(bytes_read AS DOUBLE PRECISION) + CAST(bytes_written AS DOUBLE PRECISION));"
	"CREATE INDEX jobs_by_run_time ON jobs"
	" (CAST(coalesce(run_time, CASE WHEN coalesce(end_ns, seen_ns) > start_ns"
	" THEN (CAST(coalesce(end_ns, seen_ns) AS NUMERIC) - start_ns) / 1e9"
	" WHEN coalesce(end_ns, seen_ns) <= start_ns THEN 0 END) AS DOUBLE PRECISION));"
	"CREATE INDEX findings_high ON findings (job) WHERE level = 'HIGH';"
	"ALTER TABLE figure_values ADD COLUMN ranked INTEGER;"
	"UPDATE figure_values SET ranked = 1 WHERE figure IN (SELECT number FROM figure_names"
	" WHERE name IN ('small_reads', 'small_writes', 'opens', 'seeks', 'imbalance',"
	" 'slow_call'));"
	/* `ranked` once more, so that nothing but the index is read */
	"CREATE INDEX figure_values_rank ON figure_values (ranked, figure, value)"
	" WHERE ranked = 1;";

static const char *const version3[] = { counted, lists, NULL };

/* clang-format off */
#define RN "REAL NOT NULL"
#define SERIES \
	"(job " N ", second " N ", layer " T ", kind " T ", ops " N ", bytes " N ", ns " N \
	", longest " N ", ranks " N ", slowest " N ", slowest_ns " N \
	", PRIMARY KEY (job, second, layer, kind)) STRICT, WITHOUT ROWID"
#define DAY \
	"day " N ", username " T ", name " T ", broken " N ", bytes_read " RN \
	", bytes_written " RN ", io_ms " RN ", run_ms " RN ", node_ms " RN \
	", cost_ms " RN ", high " N ", warn " N
/* clang-format on */

/* Sums of jobs by time and of users by day, see series.c and days.c; and indices for what pages
 * ask for. */
static const char series[] =
	"CREATE TABLE series " SERIES ";"
	"CREATE TABLE series_minute " SERIES ";"
	"CREATE TABLE series_hour " SERIES ";"
	"CREATE VIEW series_times AS SELECT second AS time, job, layer, kind, ops, bytes,"
	" ns / 1e9 AS seconds, longest / 1e9 AS longest, ranks, slowest,"
	" slowest_ns / 1e9 AS slowest_seconds FROM series;"
	"ALTER TABLE counted ADD COLUMN read_second INTEGER NOT NULL DEFAULT -1;"
	"ALTER TABLE counted ADD COLUMN write_second INTEGER NOT NULL DEFAULT -1;"
	"ALTER TABLE counted ADD COLUMN meta_second INTEGER NOT NULL DEFAULT -1;"
	"UPDATE counted SET read_second = (t_ns - 500000000) / 1000000000,"
	" write_second = (t_ns - 500000000) / 1000000000,"
	" meta_second = (t_ns - 500000000) / 1000000000 WHERE t_ns > 500000000;";

static const char days[] =
	"CREATE TABLE day_jobs (job INTEGER PRIMARY KEY, " DAY ") STRICT;"
	"CREATE TABLE days (" DAY ", jobs " N ", PRIMARY KEY (day, username, name)) STRICT"
	", WITHOUT ROWID;"
	"CREATE INDEX days_user ON days (username, day);"
	"CREATE INDEX days_name ON days (name, day);"
	"CREATE INDEX jobs_user_end ON jobs (username, end_ns);"
	"CREATE INDEX findings_cost ON findings (level, cost);";

static const char *const version4[] = { series, days, NULL };

/* What batch systems say of jobs, as their logs have it; all steps of a job are found by its id. */
static const char batch[] = "ALTER TABLE jobs ADD COLUMN batch_step " T0 ";"
			    "ALTER TABLE jobs ADD COLUMN batch_array " T0 ";"
			    "ALTER TABLE jobs ADD COLUMN batch_restart " T0 ";"
			    "ALTER TABLE jobs ADD COLUMN batch_name " T0 ";"
			    "ALTER TABLE jobs ADD COLUMN batch_account " T0 ";"
			    "ALTER TABLE jobs ADD COLUMN batch_partition " T0 ";"
			    "ALTER TABLE jobs ADD COLUMN batch_cluster " T0 ";"
			    "ALTER TABLE jobs ADD COLUMN batch_nodes " T0 ";"
			    "CREATE INDEX jobs_account ON jobs (batch_account, start_ns);"
			    "CREATE INDEX jobs_partition ON jobs (batch_partition, start_ns);"
			    "CREATE INDEX jobs_job_name ON jobs (batch_name, start_ns);";

/* The index of costs must not be taken for "has it anything HIGH?", which findings_high answers by
 * the job: 10 s instead of 10 ms for a page of a million jobs. Only who asks for costs may use
 * it. */
static const char costs[] = "DROP INDEX findings_cost;"
			    "CREATE INDEX findings_cost ON findings (level, cost)"
			    " WHERE cost IS NOT NULL;";

static const char *const version5[] = { batch, costs, NULL };

/* What was tried of captured jobs, and what it gave: trials.c. */
static const char trials[] =
	"CREATE TABLE trials (job " N ", number " N ", t_ns " N ", host " T ", change " T
	", rule " T ", cost REAL, ranks " N ", rounds " N ", before_s REAL, after_s REAL"
	", low REAL, high REAL, confidence REAL, verdict " T ", gain REAL"
	", PRIMARY KEY (job, number)) STRICT, WITHOUT ROWID;";

/* What processes of running jobs are at, a row for each node: moment.c. */
static const char moments[] =
	"CREATE TABLE moments (job " N ", host " T ", t_ns " N ", width_ns " N ", processes " N
	", calls " N ", body BLOB NOT NULL, PRIMARY KEY (job, host)) STRICT;";

/* Filled where several may read, each his own: in PostgreSQL. */
static const char served[] =
	"CREATE TABLE served (of_job " N ", number " N ", username " T ", uid " N ", start_ns " N
	", end_ns " N ", requests " N ", body BLOB NOT NULL, PRIMARY KEY (of_job, number))"
	" STRICT, WITHOUT ROWID;";

static const char *const version6[] = { trials, moments, served, NULL };

/* clang-format off */
/* Who was told of what, who does not want to be (notices.c), and counters of all that came
 * (totals.c). */
static const char notices[] =
	"CREATE TABLE notices (username " T ", alert " T ", period " N ", channel " T
	", state " T ", owner " T ", changed_ns " N ", tries " N ", jobs " N
	", PRIMARY KEY (username, alert, period)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX notices_open ON notices (changed_ns)"
	" WHERE state IN ('claimed', 'sending', 'failed');"
	"CREATE TABLE notice_jobs (job " N ", username " T ", alert " T ", period " N
	", PRIMARY KEY (job, username, alert)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX notice_jobs_of ON notice_jobs (username, alert, period);"
	"CREATE TABLE notice_off (username " T ", alert " T
	", PRIMARY KEY (username, alert)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE totals (part " N ", name " T ", a " T ", b " T ", value " N
	", PRIMARY KEY (part, name, a, b)) STRICT, WITHOUT ROWID;";

/* for dashboards */
static const char more_views[] =
	"CREATE VIEW minute_times AS SELECT second AS time, job, layer, kind, ops, bytes,"
	" ns / 1e9 AS seconds, longest / 1e9 AS longest, ranks FROM series_minute;"
	"CREATE VIEW day_times AS SELECT day * 86400 AS time, username, name, jobs, broken,"
	" bytes_read, bytes_written, io_ms / 1000.0 AS io_time, run_ms / 1000.0 AS run_time,"
	" node_ms / 1000.0 AS node_time, cost_ms / 1000.0 AS cost, high, warn FROM days;";
/* clang-format on */

/* An hour is the points of a picture by ten seconds. What is here of series is of jobs whose
 * activity is gone: ranks, the most that a second had; nobody's rank is the slowest. Others are
 * summed up anew, see store.c. No sum is more than a sum may be. */
static const char tens[] =
	"CREATE TABLE series_ten " SERIES ";"
	"INSERT INTO series_ten SELECT s.job, s.second - s.second % 10, s.layer, s.kind,"
	" sum(min(s.ops, 400000000000000000)), sum(min(s.bytes, 400000000000000000)),"
	" sum(min(s.ns, 400000000000000000)), max(s.longest), max(s.ranks), -1,"
	" max(s.slowest_ns) FROM series s GROUP BY 1, 2, 3, 4;";

static const char *const version7[] = { notices, more_views, tens, NULL };

/* of blocks that lie elsewhere: see far.c; of a store in a file none do */
static const char elsewhere[] = "CREATE TABLE spans (process " N ", lane " N ", first " N ", n " N
				", PRIMARY KEY (process, lane, first)) STRICT, WITHOUT ROWID;"
				"CREATE TABLE placed (process " N ", key " T ", rank " N
				", PRIMARY KEY (process, key, rank)) STRICT, WITHOUT ROWID;"
				"CREATE INDEX placed_key ON placed (key);"
				"CREATE TABLE removals (key " T " PRIMARY KEY, at_ns " N
				", end_ns " N ") STRICT, WITHOUT ROWID;";

static const char *const version8[] = { elsewhere, NULL };

const char *const *const rama_store_sqlite_schema[] = { version1, version2, version3,
							version4, version5, version6,
							version7, version8, NULL };
