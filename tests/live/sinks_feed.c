// SPDX-License-Identifier: BSD-3-Clause
/* sinks_feed.c: an agent's second thread without the first: messages that are made up go into a
 * sink, one by one the same at each run, so that tests know what must arrive.
 *
 *   sinks_feed SPEC [name=value…]        prints one line of JSON at its end
 *
 * agent=NAME   processes=P lanes=L rounds=R events=B: each lane makes R blocks of B events
 * job=KEY      tag=TAG        of processes (their job is KEY-<process % jobs>), jobs=J log=FILE
 * a log that is sent at the end          damage=N      message N is nonsense state=FILE   number
 * that is committed: where a next run begins      pace=US   between two rounds of messages
 * until=MS     gives up after that time               path=TEXT     begin of the names of files
 * keep=1       the processes do not end               start=NS      time of the first event */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/now.h"
#include "bus/sink/sink.h"

#define READ 64 /* parcels at a time */

static struct {
	const char *agent, *job, *tag, *log, *state, *path, *dialect;
	uint64_t processes, lanes, rounds, events, jobs, damage, pace, until, keep, start;
} arg = { .agent = "feed-1",
	  .job = "1000/run-feed",
	  .tag = "",
	  .path = "/data/file",
	  .processes = 2,
	  .lanes = 2,
	  .rounds = 10,
	  .events = 500,
	  .jobs = 1,
	  .until = 100000,
	  .start = 1700000000000000000ull };

static volatile sig_atomic_t stop;

static const struct rama_wire_what calls[] = { { "POSIX", "open", "open64" },
					       { "POSIX", "write", "pwrite64" },
					       { "POSIX", "read", "pread64" },
					       { "STDIO", "write", "fwrite" },
					       { "POSIX", "close", "close" } };
#define CALLS (sizeof calls / sizeof *calls)

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "sinks_feed: %s: %s\n", what, why);
	exit(4);
}

static void tell(void *ctx, const char *line)
{
	(void)ctx;
	fprintf(stderr, "%s\n", line);
}

/* ---- the messages ---------------------------------------------------------------------------- */

static uint64_t number_of_messages(void)
{
	uint64_t n = 2 * arg.processes + arg.rounds * (arg.processes * arg.lanes + 1);

	return n + (arg.log != NULL) + (arg.keep ? 0 : arg.processes);
}

static struct rama_wire_segment_key segment_of(uint64_t process)
{
	struct rama_wire_segment_key k = { { 0 } };

	memcpy(k.b, arg.agent, strnlen(arg.agent, 12));
	for (unsigned i = 12; i < sizeof k.b; i++, process >>= 8)
		k.b[i] = (uint8_t)process;
	return k;
}

static const char *job_of(uint64_t process)
{
	static char key[RAMA_WIRE_JOB];

	snprintf(key, sizeof key, "%s-%" PRIu64, arg.job, process % arg.jobs);
	return key;
}

static uint64_t record_of(uint64_t process, uint64_t file)
{
	return 1000 + process * 10 + file;
}

/* the same in tests/live/sinks_truth.py */
static struct rama_wire_event event_of(uint64_t process, uint64_t lane, uint64_t i)
{
	bool moves = i % CALLS >= 1 && i % CALLS <= 3;

	return (struct rama_wire_event){
		.end = (int64_t)(arg.start + i * 10000 + lane * 1000 + process),
		.dur = (int64_t)(100 + (i * 2654435761u & 0xffffffffu) % 50000),
		.off = moves ? (int64_t)(i * 4096) : -1,
		.bytes = moves ? (int64_t)(512 + i % 9 * 100) : -1,
		.record = record_of(process, i / CALLS % 3),
		.call = (uint32_t)(i + 1),
		.parent = i % 4 == 0 ? 0 : (uint32_t)i,
		.what = (uint16_t)(i % CALLS),
		.failed = i % 97 == 96
	};
}

static void make_process(struct rama_wire_message *m, uint64_t process, bool ended)
{
	static char user[24]; /* as his job says; he has no name */
	int64_t uid = strtoll(arg.job, NULL, 10);

	snprintf(user, sizeof user, "%lld", (long long)uid);
	m->kind = RAMA_WIRE_MSG_PROCESS;
	m->process = (struct rama_wire_msg_process){ .segment = segment_of(process),
						     .version = ended ? 2 : 1,
						     .job = job_of(process),
						     .user = user,
						     .host = "node1",
						     .exe = "/bin/app",
						     .command = "/bin/app -x",
						     .tag = arg.tag,
						     .uid = uid,
						     .jobid = 4711,
						     .pid = (int64_t)(100 + process),
						     .rank = (int64_t)process,
						     .nprocs = (int64_t)arg.processes,
						     .start = (int64_t)arg.start - 1000000,
						     .seen_at = (int64_t)arg.start,
						     .state = ended ? RAMA_WIRE_STATE_ENDED
								    : RAMA_WIRE_STATE_RUNNING,
						     .lanes = (uint32_t)arg.lanes };
	if (ended) {
		m->process.end =
			(int64_t)(arg.start + arg.rounds * arg.events * 10000 + 1000000000);
		m->process.seen_at = m->process.end;
		m->process.made = arg.lanes * arg.rounds * arg.events;
	}
}

static void make_names(struct rama_wire_message *m, uint64_t process)
{
	static struct rama_wire_msg_name name[3];
	static char text[3][4096];

	for (unsigned i = 0; i < 3; i++) {
		int n = snprintf(text[i], sizeof text[i], "%s-%" PRIu64 "-%u", arg.path, process,
				 i);

		name[i] =
			(struct rama_wire_msg_name){ record_of(process, i), text[i], (uint32_t)n };
	}
	m->kind = RAMA_WIRE_MSG_NAMES;
	m->names = (struct rama_wire_msg_names){ job_of(process), 3, name };
}

static void make_block(struct rama_wire_message *m, uint64_t process, uint64_t lane, uint64_t round)
{
	static struct rama_wire_block b;
	static struct rama_wire_block_packer packer;
	static unsigned char *bytes;
	struct rama_err e = { 0 };
	int64_t n;

	snprintf(b.job, sizeof b.job, "%s", job_of(process));
	b.segment = segment_of(process);
	b.rank = (int64_t)process;
	b.lane = (uint32_t)lane;
	b.tid = (uint32_t)(1000 + process * 100 + lane);
	b.first = round * arg.events;
	b.lost = 0;
	b.n = (uint32_t)arg.events;
	b.n_whats = CALLS;
	memcpy(b.what, calls, sizeof calls);
	for (uint64_t i = 0; i < arg.events; i++)
		b.event[i] = event_of(process, lane, b.first + i);
	if (bytes == NULL)
		bytes = malloc(rama_wire_block_room(&b));
	n = rama_wire_block_pack(&packer, &b, bytes, rama_wire_block_room(&b), &e);
	if (n < 0)
		die("pack", e.text);
	m->kind = RAMA_WIRE_MSG_BLOCK;
	m->block.bytes = bytes;
	m->block.len = (size_t)n;
}

static void make_sample(struct rama_wire_message *m, uint64_t round)
{
	static struct rama_wire_msg_figure figure[2] = { { "cpu.user", 0 }, { "load.1", 0 } };

	figure[0].value = (double)round;
	figure[1].value = (double)round / 2;
	m->kind = RAMA_WIRE_MSG_SAMPLE;
	m->sample =
		(struct rama_wire_msg_sample){ "node1", (int64_t)(arg.start + round * 1000000000),
					       2, figure };
}

static void make_log(struct rama_wire_message *m)
{
	static unsigned char *bytes;
	static struct stat st;

	if (bytes == NULL) {
		FILE *f = fopen(arg.log, "rb");

		if (f == NULL || stat(arg.log, &st) != 0 ||
		    (bytes = malloc((size_t)st.st_size)) == NULL ||
		    fread(bytes, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
			die(arg.log, "cannot be read");
		fclose(f);
	}
	m->kind = RAMA_WIRE_MSG_LOG;
	m->log = (struct rama_wire_msg_log){ job_of(0), "feed.darshan", bytes, (size_t)st.st_size };
}

/* message `number`, 1 to number_of_messages() */
static void make(uint64_t number, struct rama_wire_bytes *to)
{
	uint64_t i = number - 1, round = arg.processes * arg.lanes + 1;
	struct rama_wire_message m = { 0 };
	struct rama_err e = { 0 };

	to->n = 0;
	if (i < arg.processes) {
		make_process(&m, i, false);
	} else if ((i -= arg.processes) < arg.processes) {
		make_names(&m, i);
	} else if ((i -= arg.processes) < arg.rounds * round) {
		if (i % round == arg.processes * arg.lanes)
			make_sample(&m, i / round);
		else
			make_block(&m, i % round / arg.lanes, i % round % arg.lanes, i / round);
	} else if ((i -= arg.rounds * round) == 0 && arg.log != NULL) {
		make_log(&m);
	} else {
		make_process(&m, i - (arg.log != NULL), true);
	}
	if (rama_wire_message_encode(&m, to, &e) != 0)
		die("message", e.text);
	if (number == arg.damage)
		memset(to->b + to->n / 2, 0xa5, to->n / 2 < 16 ? to->n / 2 : 16);
}

/* ---- the loop of an agent -------------------------------------------------------------------- */

static uint64_t read_state(void)
{
	FILE *f = arg.state != NULL ? fopen(arg.state, "r") : NULL;
	uint64_t n = 0;

	if (f != NULL) {
		if (fscanf(f, "%" SCNu64, &n) != 1)
			die(arg.state, "is damaged");
		fclose(f);
	}
	return n;
}

static void write_state(uint64_t n)
{
	char temp[4096];
	FILE *f;

	if (arg.state == NULL)
		return;
	snprintf(temp, sizeof temp, "%s.new", arg.state);
	f = fopen(temp, "w");
	if (f == NULL || fprintf(f, "%" PRIu64 "\n", n) < 0 || fclose(f) != 0 ||
	    rename(temp, arg.state) != 0)
		die(arg.state, "cannot be written");
}

static unsigned fill(struct rama_bus_parcel *p, uint64_t from, uint64_t last)
{
	static struct rama_wire_bytes all[READ];
	unsigned n = 0;

	for (; n < READ && from + n <= last; n++) {
		make(from + n, &all[n]);
		p[n] = (struct rama_bus_parcel){ from + n, all[n].b, all[n].n };
	}
	return n;
}

static uint64_t feed(const struct rama_bus_sink_ops *ops, struct rama_bus_sink *s,
		     uint64_t committed)
{
	uint64_t last = number_of_messages(), next = committed + 1, again, at, have = 0;
	int64_t until = rama_now_ms() + (int64_t)arg.until, n;
	struct rama_bus_parcel p[READ];
	struct rama_err e = { 0 };
	unsigned filled = 0;

	while (committed < last && !stop && rama_now_ms() < until) {
		if (filled == 0 || next < have || next >= have + filled) {
			filled = fill(p, next, last);
			have = next;
		}
		at = next - have;
		n = next <= last ? ops->put(s, p + at, filled - at, &e) : 0;
		if (n < 0 && n != RAMA_EIO)
			die("put", e.text);
		next += n > 0 ? (uint64_t)n : 0;
		if (ops->sync(s, n > 0 && next <= last ? 0 : 100, &at, &again, &e) != 0)
			die("sync", e.text);
		if (n < 0)
			usleep(20000);
		if (again != UINT64_MAX)
			next = again;
		if (at > committed)
			write_state(committed = at);
		if (arg.pace > 0)
			usleep((useconds_t)arg.pace);
	}
	return committed;
}

static void read_words(int argc, char **argv)
{
	static const struct {
		const char *name;
		const char **text;
		uint64_t *number;
	} words[] = {
		{ "agent", &arg.agent, NULL },	   { "job", &arg.job, NULL },
		{ "tag", &arg.tag, NULL },	   { "log", &arg.log, NULL },
		{ "state", &arg.state, NULL },	   { "path", &arg.path, NULL },
		{ "dialect", &arg.dialect, NULL }, { "processes", NULL, &arg.processes },
		{ "lanes", NULL, &arg.lanes },	   { "rounds", NULL, &arg.rounds },
		{ "events", NULL, &arg.events },   { "jobs", NULL, &arg.jobs },
		{ "damage", NULL, &arg.damage },   { "pace", NULL, &arg.pace },
		{ "until", NULL, &arg.until },	   { "keep", NULL, &arg.keep },
		{ "start", NULL, &arg.start },
	};

	for (int i = 0; i < argc; i++) {
		size_t n = strcspn(argv[i], "="), k = 0;

		while (k < sizeof words / sizeof *words &&
		       (strlen(words[k].name) != n || strncmp(words[k].name, argv[i], n) != 0))
			k++;
		if (k == sizeof words / sizeof *words || argv[i][n] != '=')
			die(argv[i], "is no parameter");
		if (words[k].text != NULL)
			*words[k].text = argv[i] + n + 1;
		else
			*words[k].number = strtoull(argv[i] + n + 1, NULL, 10);
	}
}

int main(int argc, char **argv)
{
	struct rama_bus_sink_options o = { .tell = tell };
	const struct rama_bus_sink_ops *ops;
	struct rama_bus_sink_totals t;
	struct rama_bus_sink *s = NULL;
	struct rama_err e = { 0 };
	uint64_t committed;

	if (argc < 2 || (ops = rama_bus_sink_find(argv[1], &o.where)) == NULL)
		die("SPEC", "is no sink");
	read_words(argc - 2, argv + 2);
	signal(SIGTERM, on_signal);
	signal(SIGPIPE, SIG_IGN);
	o.agent = arg.agent;
	o.dialect = arg.dialect;
	if (ops->open(&s, &o, &e) != 0)
		die(argv[1], e.text);
	committed = feed(ops, s, read_state());
	ops->totals(s, &t);
	printf("{\"sink\":\"%s\",\"last\":%" PRIu64 ",\"committed\":%" PRIu64
	       ",\"messages\":%" PRIu64 ",\"events\":%" PRIu64 ",\"repeated\":%" PRIu64
	       ",\"refused\":%" PRIu64 ",\"refused_events\":%" PRIu64 "}\n",
	       ops->name, number_of_messages(), committed, t.messages, t.events, t.repeated,
	       t.refused, t.refused_events);
	ops->close(s);
	return committed == number_of_messages() ? 0 : 3;
}
