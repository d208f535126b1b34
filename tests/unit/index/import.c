/* SPDX-License-Identifier: BSD-3-Clause */
/* import.c: files with events become messages. What the encoder writes comes back; what the
 * connector and its CSV store write is understood; bad lines cost themselves only. */
#include "unit.h"

#include "index/import.h"
#include "index/import_stream.h"
#include "messages.h"

/* ---- a store that keeps all it is given
 * ------------------------------------------------------------------------------ */

#define KEPT 4096

static struct {
	struct rama_wire_bytes bytes; /* of all messages */
	size_t at[KEPT + 1];
	unsigned n;
	char told[4096];
	int answer; /* to messages from number `stop` on */
	unsigned stop;
	size_t piece; /* bytes that are read at a time */
	const char *text;
	size_t len, used;
} got;

static struct rama_wire_block_packer packer;
static struct rama_wire_block block;
static struct rama_arena arena;

static int take(void *ctx, const struct rama_wire_message *m, struct rama_err *e)
{
	(void)ctx;
	if (got.answer < 0 && got.n >= got.stop)
		return rama_err_set(e, got.answer, "the store is gone");
	assert_true(got.n < KEPT);
	assert_int_equal(rama_wire_message_encode(m, &got.bytes, e),
			 0); /* every message given is one that can be sent */
	got.at[++got.n] = got.bytes.n;
	return 0;
}

static void note(void *ctx, const char *line)
{
	size_t n = strlen(got.told);

	(void)ctx;
	snprintf(got.told + n, sizeof(got.told) - n, "%s\n", line);
}

static int64_t read_text(void *from, void *to, size_t n, struct rama_err *e)
{
	size_t left = got.len - got.used;

	(void)from, (void)e;
	n = n < got.piece ? n : got.piece;
	n = n < left ? n : left;
	memcpy(to, got.text + got.used, n);
	got.used += n;
	return (int64_t)n;
}

static struct rama_index_import_totals totals;
static struct rama_err err;

static int import_bytes(const char *text, size_t n)
{
	static const struct rama_index_import_options o = { take, note, NULL };
	static const struct rama_index_import_source s = { "events.json", read_text, NULL };

	got.bytes.n = got.n = 0;
	got.told[0] = '\0';
	got.text = text;
	got.len = n;
	got.used = 0;
	if (got.piece == 0)
		got.piece = SIZE_MAX;
	err = (struct rama_err){ 0 };
	return rama_index_import(&s, &o, &totals, &err);
}

static int import(const char *text)
{
	return import_bytes(text, strlen(text));
}

static struct rama_wire_message message(unsigned k)
{
	struct rama_wire_message m;

	assert_true(k < got.n);
	assert_int_equal(rama_wire_message_decode(&m, got.bytes.b + got.at[k],
						  got.at[k + 1] - got.at[k], &arena, &err),
			 0);
	return m;
}

/* events of all blocks, in order; *block is the last one that had some */
static unsigned events(struct rama_wire_event *to, struct rama_wire_what *what, unsigned most)
{
	unsigned n = 0;

	for (unsigned k = 0; k < got.n; k++) {
		struct rama_wire_message m = message(k);

		if (m.kind != RAMA_WIRE_MSG_BLOCK)
			continue;
		assert_int_equal(rama_wire_block_unpack(&packer, &block, m.block.bytes, m.block.len,
							&err),
				 0);
		for (uint32_t i = 0; i < block.n && n < most; i++, n++) {
			to[n] = block.event[i];
			what[n] = block.what[block.event[i].what];
		}
	}
	return n;
}

/* the last message of a kind */
static struct rama_wire_message last(enum rama_wire_message_kind kind)
{
	struct rama_wire_message m = { .kind = 0 }, found = { .kind = 0 };

	for (unsigned k = 0; k < got.n; k++)
		if ((m = message(k)).kind == kind)
			found = m;
	assert_int_equal(found.kind, kind);
	return found;
}

static const char *name_of(uint64_t record)
{
	for (unsigned k = 0; k < got.n; k++) {
		struct rama_wire_message m = message(k);

		for (uint32_t i = 0; m.kind == RAMA_WIRE_MSG_NAMES && i < m.names.n; i++)
			if (m.names.name[i].record == record)
				return m.names.name[i].path;
	}
	return NULL;
}

/* ---- what the encoder writes comes back
 * ----------------------------------------------------------------------------------- */

#define LONG 1213
#define RECORDS 6
static char long_path[LONG + 1];
static const char *const paths[RECORDS] = { "/plain",
					    "/quote \"q\" and \\ and ,",
					    "/line\nbreak\r\n\ttab",
					    "/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
					    "/not \xff\xfe utf8 \xc3",
					    long_path };
static const uint64_t ids[RECORDS] = { 1, 77, UINT64_MAX, 1ull << 63, 9007199254740993u, 12 };

static struct step random_step(struct rng *r)
{
	static const char *const calls[] = { "POSIX open openat",  "POSIX read pread",
					     "POSIX write pwrite", "POSIX close close",
					     "STDIO write fwrite", "MPI-IO read MPI_File_read",
					     "H5F open H5Fopen",   "H5D close H5Dclose",
					     "POSIX stat stat",	   "POSIX sync fsync" };
	struct step s = {
		calls[rng_below(r, LENGTH(calls))], ids[rng_below(r, RECORDS)], -1, -1, 0, 0, false
	};

	s.start = (int64_t)rng_below(r, 1000000000000);
	s.dur = (int64_t)rng_below(r, 3000000);
	if (strstr(s.what, "read") != NULL || strstr(s.what, "write") != NULL) {
		s.off = (int64_t)rng_below(r, 1ull << 50);
		s.bytes = (int64_t)rng_below(r, 1u << 20);
	}
	s.failed = rng_below(r, 20) == 0;
	return s;
}

static struct step steps[500];

static void tell(struct bench *b, struct rng *r)
{
	memset(long_path, 'p', LONG);
	for (unsigned i = 0; i < LENGTH(steps); i++)
		steps[i] = random_step(r);
	rama_bus_encoder_header(b->en, &b->out);
	bench_put(b, a_process(3, RAMA_WIRE_STATE_RUNNING, 1, 0));
	for (unsigned i = 0; i < RECORDS; i++)
		bench_put(b, a_name(ids[i], paths[i]));
	for (unsigned i = 0; i < LENGTH(steps); i += 100)
		bench_put(b, a_block(3, 0, i, &steps[i], 100));
	bench_put(b, a_process(3, RAMA_WIRE_STATE_ENDED, 9, LENGTH(steps)));
}

static void check_own(bool csv)
{
	static struct rama_wire_event ev[LENGTH(steps)];
	static struct rama_wire_what what[LENGTH(steps)];
	char text[80];

	assert_int_equal(totals.events, LENGTH(steps));
	assert_int_equal(events(ev, what, LENGTH(ev)), LENGTH(steps));
	for (unsigned i = 0; i < LENGTH(steps); i++) {
		const struct step *s = &steps[i];

		snprintf(text, sizeof(text), "%.15s %.15s %.47s", what[i].layer, what[i].op,
			 what[i].fn);
		assert_string_equal(text, s->what);
		assert_true(ev[i].record == s->record && ev[i].dur == s->dur &&
			    ev[i].end == START + s->start + s->dur);
		assert_true(ev[i].off == s->off && ev[i].bytes == s->bytes &&
			    ev[i].failed == s->failed && ev[i].call == i + 1);
	}
	assert_string_equal(block.job, "1000/run-17");
	assert_int_equal(block.segment.b[0], 3);
	assert_int_equal(block.first + block.n, LENGTH(steps));
	assert_true(block.rank == 3 && block.tid == 4000 && block.lane == 0);
	for (unsigned i = 0; i < RECORDS; i++)
		assert_string_equal(name_of(ids[i]), paths[i]); /* also what is no UTF-8 */
	assert_int_equal(last(RAMA_WIRE_MSG_PROCESS).process.version, csv ? 0 : 9);
	assert_int_equal(last(RAMA_WIRE_MSG_PROCESS).process.made, LENGTH(steps));
	assert_string_equal(last(RAMA_WIRE_MSG_PROCESS).process.host, "node03");
	if (!csv)
		assert_string_equal(last(RAMA_WIRE_MSG_PROCESS).process.exe, "/bin/\"app\"");
}

static void own_dialect_comes_back(void **st)
{
	static const size_t pieces[] = { SIZE_MAX, 1000, 7 };

	(void)st;
	for (unsigned csv = 0; csv < 2; csv++)
		for (unsigned k = 0; k < LENGTH(pieces); k++) {
			struct rng r = { 100 + csv };
			struct bench b;

			bench_begin(&b, RAMA_BUS_DIALECT_JSON, csv, false);
			tell(&b, &r);
			bench_text(&b);
			got.piece = pieces[k];
			if (import_bytes(b.out.buf, b.out.used) != 0)
				fail_msg("%s\n%s", err.text, got.told);
			check_own(csv);
			bench_end(&b);
			rama_arena_fini(&arena);
		}
	got.piece = SIZE_MAX;
}

/* nearest whole microsecond */
static int64_t us(int64_t ns)
{
	return (ns + 500) / 1000 * 1000;
}

/* what may be left of bytes that are no UTF-8 */
static const char *readable(unsigned i)
{
	return i == 4 ? "/not \xef\xbf\xbd\xef\xbf\xbd utf8 \xef\xbf\xbd" : paths[i];
}

static void check_connector(void)
{
	static struct rama_wire_event ev[LENGTH(steps)];
	static struct rama_wire_what what[LENGTH(steps)];
	unsigned n = events(ev, what, LENGTH(ev)), k = 0;
	bool opened[RECORDS] = { false };
	char text[80];

	for (unsigned i = 0; i < LENGTH(steps); i++) {
		const struct step *s = &steps[i];
		size_t words = (size_t)(strrchr(s->what, ' ') - s->what);

		if (s->failed || strstr(s->what, "stat") != NULL || strstr(s->what, "sync") != NULL)
			continue;
		assert_true(k < n);
		snprintf(text, sizeof(text), "%s %s", what[k].layer, what[k].op);
		assert_int_equal(strlen(text), words);
		assert_memory_equal(text, s->what, words);
		assert_true(ev[k].record == s->record && ev[k].dur == us(s->dur) &&
			    ev[k].end == us(START + s->start + s->dur));
		assert_true(ev[k].off == s->off && ev[k].bytes == s->bytes && !ev[k].failed);
		for (unsigned r = 0; r < RECORDS; r++)
			opened[r] = opened[r] ||
				    (ids[r] == s->record && strstr(s->what, "open") != NULL);
		k++;
	}
	assert_int_equal(k, n);
	for (unsigned r = 0; r < RECORDS; r++) {
		assert_true(opened[r]);
		assert_string_equal(name_of(ids[r]), readable(r));
	}
	assert_string_equal(block.job, "1000/job-77");
	assert_true(block.rank == 3 && block.first + block.n == k);
	assert_string_equal(last(RAMA_WIRE_MSG_PROCESS).process.host, "node03");
	assert_string_equal(last(RAMA_WIRE_MSG_PROCESS).process.exe, "/bin/\"app\"");
	assert_int_equal(last(RAMA_WIRE_MSG_PROCESS).process.made, k);
	assert_int_equal(last(RAMA_WIRE_MSG_PROCESS).process.jobid, 77);
}

static void connector_dialects_come_back(void **st)
{
	(void)st;
	for (unsigned d = RAMA_BUS_DIALECT_UPSTREAM; d <= RAMA_BUS_DIALECT_PAPER; d++)
		for (unsigned csv = 0; csv < 2; csv++) {
			struct rng r = { 200 };
			struct bench b;

			bench_begin(&b, d, csv, false);
			tell(&b, &r);
			if (import_bytes(b.out.buf, b.out.used) != 0)
				fail_msg("%s\n%s", err.text, got.told);
			check_connector();
			bench_end(&b);
			rama_arena_fini(&arena);
		}
}

/* the same file again, and once more when it is longer: the same messages, and then more */
static void importing_again_changes_nothing(void **st)
{
	struct rama_wire_bytes first = { 0 };
	struct rng r = { 200 };
	struct bench b;
	size_t half;
	struct rama_wire_segment_key segment;
	struct rama_wire_message again;

	(void)st;
	bench_begin(&b, RAMA_BUS_DIALECT_UPSTREAM, false, false);
	tell(&b, &r);
	assert_int_equal(import_bytes(b.out.buf, b.out.used), 0);
	first.b = malloc(got.bytes.n);
	assert_non_null(first.b);
	memcpy(first.b, got.bytes.b, first.n = got.bytes.n);
	assert_int_equal(import_bytes(b.out.buf, b.out.used), 0);
	assert_int_equal(got.bytes.n, first.n);
	assert_memory_equal(got.bytes.b, first.b, first.n);
	segment = last(RAMA_WIRE_MSG_PROCESS).process.segment;
	half = (size_t)(strchr(b.out.buf + b.out.used / 2, '\n') - b.out.buf) + 1;
	assert_int_equal(import_bytes(b.out.buf, half), 0);
	again = last(RAMA_WIRE_MSG_PROCESS);
	assert_memory_equal(&segment, &again.process.segment, sizeof(segment));
	assert_true(last(RAMA_WIRE_MSG_PROCESS).process.version < 2 + LENGTH(steps));
	free(first.b);
	bench_end(&b);
	rama_arena_fini(&arena);
}

/* ---- what others write ----------------------------------------------------------------------- */

/* the two messages of figure 3 of the paper: 1 stands where nothing applies */
static const char figure3[] =
	"{\"uid\":\"99066\",\"exe\":\"<absolute-path>/"
	"mpi-io-test\",\"job_id\":226903,\"rank\":3,\"ProducerName\":\"nid00046\",\"file\":"
	"\"<absolute-path>/"
	"mpi-io-test.tmp.dat\",\"record_id\":1601543006480890062,\"module\":\"POSIX\",\"type\":"
	"\"MET\",\"max_byte\":1,"
	"\"switches\":1,\"flushes\":1,\"cnt\":1,\"op\":\"open\",\"seg\":[{\"data_set\":\"N/"
	"A\",\"pt_sel\":1,\"irreg_hslab\":1,\"reg_hslab\":1,"
	"\"ndims\":1,\"npoints\":1,\"off\":1,\"len\":1,\"dur\":0.002069,\"timestamp\":1653416252."
	"990068}]}\n"
	"\n"
	"{\"uid\":\"99066\",\"exe\":\"N/"
	"A\",\"job_id\":226901,\"rank\":2,\"ProducerName\":\"nid00046\",\"file\":\"N/"
	"A\",\"record_id\":"
	"1601543006480890062,\"module\":\"POSIX\",\"type\":\"MOD\",\"max_byte\":1,\"switches\":1,"
	"\"flushes\":1,\"cnt\":1,\"op\":\"close\","
	"\"seg\":[{\"data_set\":\"N/"
	"A\",\"pt_sel\":1,\"irreg_hslab\":1,\"reg_hslab\":1,\"ndims\":1,\"npoints\":1,\"off\":1,"
	"\"len\":1,"
	"\"dur\":0.002296,\"timestamp\":1653416253.006978}]}";

static void figure_3_is_understood(void **st)
{
	struct rama_wire_event ev[4];
	struct rama_wire_what what[4];

	(void)st;
	assert_int_equal(import(figure3), 0);
	assert_int_equal(events(ev, what, 4), 2);
	assert_true(ev[0].end == 1653416252990068000 && ev[0].dur == 2069000);
	assert_true(ev[0].off == -1 && ev[0].bytes == -1);
	assert_true(ev[1].end == 1653416253006978000 && ev[1].record == 1601543006480890062u);
	assert_string_equal(name_of(1601543006480890062u), "<absolute-path>/mpi-io-test.tmp.dat");
	assert_string_equal(block.job, "99066/job-226901");
	assert_int_equal(block.rank, 2);
	rama_arena_fini(&arena);
}

/* as stream_csv_store writes it: signed ids, quotes as they are, columns in its order */
static const char stored_csv[] = "#ProducerName,cnt,exe,file,flushes,job_id,max_byte,module,op,"
				 "rank,record_id,schema,switches,type,uid,seg:dur,seg:irreg_hslab,"
				 "seg:len,seg:ndims,seg:npoints,seg:off,seg:pt_sel,seg:reg_hslab,"
				 "seg:start,seg:timestamp,seg:total\n"
				 "\"n1\",1,\"/a\",\"/the \"best\" file, "
				 "\"really\"\",-1,5,-1,\"STDIO\",\"open\",0,-2,\"darshan_data\",-1,"
				 "\"MET\",1000,0.000250,-1,-1,"
				 "-1,-1,-1,-1,-1,0.1,1700000000.500000,0.000250\r\n"
				 "\"n1\",1,\"N/A\",\"N/A\",-1,5,99,\"MPIIO\",\"write\",0,-2,\"N/"
				 "A\",0,\"MOD\",1000,0.000250,-1,100,-1,-1,4096,-1,-1,0.2,"
				 "1700000000.750001,0.000250\r\n";

static void csv_of_the_store_is_understood(void **st)
{
	struct rama_wire_event ev[4];
	struct rama_wire_what what[4];

	(void)st;
	if (import(stored_csv) != 0)
		fail_msg("%s %s", err.text, got.told);
	assert_int_equal(events(ev, what, 4), 2);
	assert_true(ev[0].record == UINT64_MAX - 1 && ev[1].record == UINT64_MAX - 1);
	assert_string_equal(name_of(UINT64_MAX - 1), "/the \"best\" file, \"really\"");
	assert_string_equal(what[1].layer, "MPI-IO");
	assert_true(ev[1].off == 4096 && ev[1].bytes == 100 && ev[1].end == 1700000000750001000);
	rama_arena_fini(&arena);
}

#define LINE(op, rest)                                                                          \
	"{\"uid\":1,\"job_id\":2,\"rank\":0,\"ProducerName\":\"n\",\"record_id\":3,\"module\":" \
	"\"POSIX\",\"op\":\"" op "\"," rest "}\n"
#define SEG(t) "{\"off\":0,\"len\":8,\"dur\":0.5,\"timestamp\":" t "}"

static void several_accesses_in_one_message(void **st)
{
	struct rama_wire_event ev[8];
	struct rama_wire_what what[8];

	(void)st;
	assert_int_equal(import(LINE("read", "\"seg\":[" SEG("10.5") "," SEG("11") "," SEG(
						     "12.000001") "]")),
			 0);
	assert_int_equal(events(ev, what, 8), 3);
	assert_true(ev[0].end == 10500000000 && ev[1].end == 11000000000 &&
		    ev[2].end == 12000001000);
	rama_arena_fini(&arena);
}

static void bad_lines_cost_themselves_only(void **st)
{
	struct rama_wire_event ev[8];
	struct rama_wire_what what[8];

	(void)st;
	assert_int_equal(
		import(LINE("read", "\"seg\":[" SEG("10") "]") /* 1: good */
		       "{\"uid\":1,\n"			       /* 2: cut */
		       LINE("read",
			    "\"seg\":[" SEG(
				    "11") ",{\"dur\":1}]")    /* 3: one access is wrong: all are */
		       LINE("read", "\"seg\":[]")	      /* 4 */
		       LINE("a b", "\"seg\":[" SEG("12") "]") /* 5: not a name */
		       "[1]\n"				      /* 6 */
		       LINE("read", "\"seg\":[" SEG("1e300") "]")	   /* 7: no time */
		       LINE("write", "\"file\":7,\"seg\":[" SEG("13") "]") /* 8 */
		       "{\"type\":\"guess\"}\n"				   /* 9 */
		       LINE("read", "\"uid\":2,\"seg\":[" SEG("14") "]")   /* 10: a key twice */
		       LINE("write", "\"seg\":[" SEG("15") "]")),	   /* 11: good */
		RAMA_ECORRUPT);
	assert_int_equal(rama_err_status(err.code), 3);
	assert_string_equal(err.text, "events.json: 9 of 11 lines are bad and were left out");
	assert_int_equal(totals.bad, 9);
	assert_int_equal(events(ev, what, 8), 2);
	assert_true(ev[0].end == 10000000000 && ev[1].end == 15000000000);
	for (unsigned k = 2; k <= 10; k++) {
		char place[32];

		snprintf(place, sizeof(place), "events.json:%u: ", k);
		assert_non_null(strstr(got.told, place));
	}
	assert_non_null(strstr(got.told, "events.json:3: 'timestamp' is missing or wrong\n"));
	rama_arena_fini(&arena);
}

#define HEADER "module,op,record_id,seg:dur,seg:timestamp,file\n"

/* A row that never ends must not swallow the ones behind it; one that ends in another line is
 * one row. */
static void rows_that_do_not_end(void **st)
{
	struct rama_wire_event ev[8];
	struct rama_wire_what what[8];

	(void)st;
	assert_int_equal(import(HEADER "POSIX,read,1,0.5,10,\"/a\nb\"\n" /* 2, 3 */
				       "POSIX,read,2,0.5,11,\"/open\n"	 /* 4: bad */
				       "POSIX,read,3,0.5,12,/c\n"	 /* 5 */
				       "POSIX,read,4,0.5,13\n"		 /* 6: too short */
				       "POSIX,read,x,0.5,13,/d\n"	 /* 7 */
				       "POSIX,read,5,0.5,14,/e"),
			 RAMA_ECORRUPT);
	assert_int_equal(totals.bad, 3);
	assert_int_equal(totals.lines, 8);
	assert_int_equal(events(ev, what, 8), 3);
	assert_string_equal(name_of(1), "/a\nb");
	assert_string_equal(name_of(5), "/e");
	assert_non_null(strstr(got.told, "events.json:4: not 6 columns\n"));
	assert_non_null(strstr(got.told, "events.json:6: not 6 columns\n"));
	assert_non_null(strstr(got.told, "events.json:7: 'record_id' is wrong\n"));
	rama_arena_fini(&arena);
}

static void many_bad_lines_are_counted(void **st)
{
	static char text[2000];
	unsigned lines = 0;

	(void)st;
	for (size_t i = 0; i + 3 < sizeof(text); i += 2)
		memcpy(text + i, "{\n", 3);
	assert_int_equal(import(text), RAMA_ECORRUPT);
	for (const char *p = got.told; *p != '\0'; p++)
		lines += *p == '\n';
	assert_int_equal(lines, RAMA_INDEX_IMPORT_TOLD + 1);
	assert_int_equal(totals.bad, totals.lines);
}

static void what_is_no_such_file(void **st)
{
	struct rama_index_import_options o = { take, note, NULL };

	(void)st;
	assert_int_equal(import("\x7f"
				"ELF\n"),
			 RAMA_EFORMAT);
	assert_non_null(strstr(err.text, "events.json:1: "));
	assert_int_equal(import("#module,op\n"), RAMA_EFORMAT);
	assert_int_equal(import("module,op,record_id,seg:dur,seg:timestamp,op\n"), RAMA_EFORMAT);
	assert_int_equal(import(""), 0);
	assert_int_equal(import("\n\n"), 0);
	assert_int_equal(totals.events, 0);
	assert_int_equal(rama_index_import_file("/does/not/exist", &o, &totals, &err),
			 RAMA_EMISSING);
	assert_non_null(strstr(err.text, "/does/not/exist: "));
}

/* lines without end, and bytes that no text has */
static void hostile_lines(void **st)
{
	size_t n = RAMA_INDEX_IMPORT_LINE + (3u << 20);
	char *text = malloc(n + 400);
	const char *good = LINE("read", "\"seg\":[" SEG("10") "]");
	size_t len = strlen(good);

	(void)st;
	assert_non_null(text);
	memset(text, '{', n);
	text[n] = '\n';
	memcpy(text + n + 1, good, len);
	assert_int_equal(import_bytes(text, n + 1 + len), RAMA_ECORRUPT);
	assert_int_equal(totals.events, 1);
	assert_int_equal(totals.lines, 2);
	assert_non_null(strstr(got.told, "events.json:1: longer than any real line\n"));
	memset(text, '[', 100000); /* deep */
	memcpy(text, "{\"seg\":", 7);
	text[100000] = '\n';
	memcpy(text + 100001, good, len);
	assert_int_equal(import_bytes(text, 100001 + len), RAMA_ECORRUPT);
	assert_int_equal(totals.events, 1);
	memcpy(text, good, len);
	text[10] = '\0';
	assert_int_equal(import_bytes(text, len), RAMA_ECORRUPT);
	assert_non_null(strstr(got.told, "a byte of value 0"));
	free(text);
	rama_arena_fini(&arena);
}

static void raw_bytes_in_texts(void **st)
{
	(void)st;
	assert_int_equal(import("\xef\xbb\xbf" LINE(
				 "open", "\"file\":\"/a\tb\xff\",\"seg\":[" SEG("10") "]")),
			 0);
	assert_string_equal(name_of(3), "/a\tb\xef\xbf\xbd");
	rama_arena_fini(&arena);
}

/* a store that fails ends the import, and its words are kept */
static void an_error_of_the_store_ends_it(void **st)
{
	(void)st;
	got.answer = RAMA_EIO;
	for (got.stop = 0; got.stop < 3; got.stop++) {
		assert_int_equal(import(LINE("read", "\"seg\":[" SEG("10") "]")), RAMA_EIO);
		assert_string_equal(err.text, "the store is gone");
	}
	got.answer = 0;
}

/* more processes than one has buffers for: all events come, each process has its own sequence */
static void many_processes(void **st)
{
	struct rama_out out;
	uint64_t events_seen = 0;

	(void)st;
	rama_out_init(&out, NULL, NULL);
	for (unsigned i = 0; i < 1500; i++)
		rama_out_fmt(&out,
			     "{\"uid\":1,\"job_id\":2,\"rank\":%u,\"ProducerName\":\"n\",\"record_"
			     "id\":3,\"module\":\"POSIX\",\"op\":\"read\","
			     "\"seg\":[" SEG("%u.5") "," SEG("%u.75") "]}\n",
			     i % 750, i, i);
	assert_int_equal(import_bytes(out.buf, out.used), 0);
	assert_int_equal(totals.events, 3000);
	for (unsigned k = 0; k < got.n; k++) {
		struct rama_wire_message m = message(k);

		if (m.kind != RAMA_WIRE_MSG_BLOCK)
			continue;
		assert_int_equal(rama_wire_block_unpack(&packer, &block, m.block.bytes, m.block.len,
							&err),
				 0);
		assert_int_equal(block.first, 0);
		assert_int_equal(block.n, 4);
		assert_int_equal(block.t1, (block.rank + 750) * 1000000000 + 750000000);
		events_seen += block.n;
	}
	assert_int_equal(events_seen, 3000);
	rama_out_fini(&out);
	rama_arena_fini(&arena);
	rama_wire_bytes_fini(&got.bytes);
	rama_wire_block_packer_fini(&packer);
}

UNIT_GROUP(import, test(own_dialect_comes_back), test(connector_dialects_come_back),
	   test(importing_again_changes_nothing), test(figure_3_is_understood),
	   test(csv_of_the_store_is_understood), test(several_accesses_in_one_message),
	   test(bad_lines_cost_themselves_only), test(rows_that_do_not_end),
	   test(many_bad_lines_are_counted), test(what_is_no_such_file), test(hostile_lines),
	   test(raw_bytes_in_texts), test(an_error_of_the_store_ends_it), test(many_processes))
