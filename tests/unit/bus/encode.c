/* SPDX-License-Identifier: BSD-3-Clause */
/* encode.c: events as text. What is expected is written out by hand, from
 * docs/format/connector.md. */
#include "unit.h"

#include <jansson.h>

#include "bus/encode/state.h"
#include "messages.h"

#define PATH "/scratch/a \"b\"\n\xc3\xa4\xff"

static const struct step story[] = {
	{ "POSIX open openat", 9, -1, -1, 1000000, 2500, false },
	{ "POSIX write pwrite", 9, 0, 100, 2000000, 1000, false },
	{ "POSIX write pwrite", 9, 100, 50, 3000000, 1400, false },
	{ "POSIX stat stat", 9, -1, -1, 3500000, 10, false },
	{ "POSIX read pread", 9, 20, 10, 4000000, 600, false },
	{ "POSIX read pread", 9, 20, -1, 4100000, 600, true },
	{ "STDIO write fwrite", UINT64_MAX, 0, 8, 5000000, 300, false },
	{ "STDIO flush fflush", UINT64_MAX, -1, -1, 5100000, 4000, false },
	{ "MPI-IO write MPI_File_write_at", 9, 4096, 512, 6000000, 9000, false },
	{ "POSIX close close", 9, -1, -1, 7000000, 500, false },
};

static void tell(struct bench *b)
{
	bench_put(b, a_process(3, RAMA_WIRE_STATE_RUNNING, 1, 0));
	bench_put(b, a_name(9, PATH));
	bench_put(b, a_block(3, 0, 40, story, LENGTH(story)));
}

#define COMMON "\"job_id\":77,\"rank\":3,\"ProducerName\":\"node03\","
#define HSLAB "\"pt_sel\":-1,\"irreg_hslab\":-1,\"reg_hslab\":-1,\"ndims\":-1,\"npoints\":-1,"

static void upstream_is_what_readers_know(void **st)
{
	struct rama_bus_encoder_totals t;
	struct bench b;

	(void)st;
	bench_begin(&b, RAMA_BUS_DIALECT_UPSTREAM, false, false);
	tell(&b);
	assert_string_equal(
		bench_text(&b),
		"{\"schema\":\"darshan_data\",\"uid\":1000,\"exe\":\"/bin/\\\"app\\\"\"," COMMON
		"\"file\":\"/scratch/a "
		"\\\"b\\\"\\u000a\xc3\xa4\\ufffd\",\"record_id\":9,\"module\":\"POSIX\",\"type\":"
		"\"MET\",\"max_byte\":-1,"
		"\"switches\":-1,\"flushes\":-1,\"cnt\":1,\"op\":\"open\",\"seg\":[{" HSLAB
		"\"off\":-1,\"len\":-1,\"start\":0.001000,\"dur\":0.000003,\"total\":0.000003,"
		"\"timestamp\":1700000000.001003}],"
		"\"seq\":40,\"lost\":0}\n"
		"{\"schema\":\"N/A\",\"uid\":1000,\"exe\":\"N/A\"," COMMON "\"file\":\"N/"
		"A\",\"record_id\":9,\"module\":\"POSIX\",\"type\":\"MOD\",\"max_byte\":149,"
		"\"switches\":0,\"flushes\":-1,\"cnt\":2,\"op\":\"write\",\"seg\":[{" HSLAB
		"\"off\":0,\"len\":100,\"start\":0.002000,\"dur\":0.000001,\"total\":0.000001,"
		"\"timestamp\":1700000000.002001},{" HSLAB
		"\"off\":100,\"len\":50,\"start\":0.003000,\"dur\":0.000001,\"total\":0.000002,"
		"\"timestamp\":1700000000.003001}],"
		"\"seq\":41,\"lost\":0}\n"
		"{\"schema\":\"N/A\",\"uid\":1000,\"exe\":\"N/A\"," COMMON "\"file\":\"N/"
		"A\",\"record_id\":9,\"module\":\"POSIX\",\"type\":\"MOD\",\"max_byte\":29,"
		"\"switches\":1,\"flushes\":-1,\"cnt\":1,\"op\":\"read\",\"seg\":[{" HSLAB
		"\"off\":20,\"len\":10,\"start\":0.004000,\"dur\":0.000001,\"total\":0.000001,"
		"\"timestamp\":1700000000.004001}],"
		"\"seq\":44,\"lost\":0}\n"
		"{\"schema\":\"N/A\",\"uid\":1000,\"exe\":\"N/A\"," COMMON "\"file\":\"N/"
		"A\",\"record_id\":18446744073709551615,\"module\":\"STDIO\",\"type\":\"MOD\","
		"\"max_byte\":7,"
		"\"switches\":-1,\"flushes\":1,\"cnt\":2,\"op\":\"write\",\"seg\":[{" HSLAB
		"\"off\":0,\"len\":8,\"start\":0.005000,\"dur\":0.000000,\"total\":0.000000,"
		"\"timestamp\":1700000000.005000},{" HSLAB
		"\"off\":-1,\"len\":0,\"start\":0.005100,\"dur\":0.000004,\"total\":0.000004,"
		"\"timestamp\":1700000000.005104}],"
		"\"seq\":46,\"lost\":0}\n"
		"{\"schema\":\"N/A\",\"uid\":1000,\"exe\":\"N/A\"," COMMON "\"file\":\"N/"
		"A\",\"record_id\":9,\"module\":\"MPIIO\",\"type\":\"MOD\",\"max_byte\":-1,"
		"\"switches\":0,\"flushes\":-1,\"cnt\":1,\"op\":\"write\",\"seg\":[{" HSLAB
		"\"off\":4096,\"len\":512,\"start\":0.006000,\"dur\":0.000009,\"total\":0.000009,"
		"\"timestamp\":1700000000.006009}],"
		"\"seq\":48,\"lost\":0}\n"
		"{\"schema\":\"N/A\",\"uid\":1000,\"exe\":\"N/A\"," COMMON "\"file\":\"N/"
		"A\",\"record_id\":9,\"module\":\"POSIX\",\"type\":\"MOD\",\"max_byte\":-1,"
		"\"switches\":-1,\"flushes\":-1,\"cnt\":1,\"op\":\"close\",\"seg\":[{" HSLAB
		"\"off\":-1,\"len\":-1,\"start\":0.007000,\"dur\":0.000001,\"total\":0.000003,"
		"\"timestamp\":1700000000.007001}],"
		"\"seq\":49,\"lost\":0}\n");
	rama_bus_encoder_totals(b.en, &t);
	assert_int_equal(t.written, 8);
	assert_int_equal(t.left_out, 2);
	assert_int_equal(t.lines, 6);
	bench_end(&b);
}

static void the_paper_is_figure_3(void **st)
{
	static const struct step again[] = {
		{ "POSIX open openat", 9, -1, -1, 8000000, 1000, false },
		{ "POSIX write pwrite", 9, 0, 4, 8100000, 1000, false }
	};
	struct bench b;

	(void)st;
	bench_begin(&b, RAMA_BUS_DIALECT_PAPER, false, false);
	bench_put(&b, a_process(3, RAMA_WIRE_STATE_RUNNING, 1, 0));
	bench_put(&b, a_name(9, "/scratch/a"));
	bench_put(&b, a_block(3, 0, 0, story, 2));
	bench_put(&b, a_block(3, 0, 2, &story[9], 1));
	bench_put(&b, a_block(3, 0, 3, again, 2));
#define PAPER_SEG "\"seg\":[{\"data_set\":\"N/A\"," HSLAB
#define MOD                                         \
	"{\"uid\":\"1000\",\"exe\":\"N/A\"," COMMON \
	"\"file\":\"N/A\",\"record_id\":9,\"module\":\"POSIX\",\"type\":\"MOD\","
#define MET                                                      \
	"{\"uid\":\"1000\",\"exe\":\"/bin/\\\"app\\\"\"," COMMON \
	"\"file\":\"/scratch/a\",\"record_id\":9,\"module\":\"POSIX\",\"type\":\"MET\","
	assert_string_equal(
		bench_text(&b), MET
		"\"max_byte\":-1,\"switches\":-1,\"flushes\":-1,\"cnt\":1,\"op\":"
		"\"open\"," PAPER_SEG
		"\"off\":-1,\"len\":-1,\"dur\":0.000003,\"timestamp\":1700000000.001003}]}\n" MOD
		"\"max_byte\":99,\"switches\":0,\"flushes\":-1,\"cnt\":1,\"op\":"
		"\"write\"," PAPER_SEG
		"\"off\":0,\"len\":100,\"dur\":0.000001,\"timestamp\":1700000000.002001}]}\n" MOD
		"\"max_byte\":-1,\"switches\":-1,\"flushes\":-1,\"cnt\":1,\"op\":"
		"\"close\"," PAPER_SEG
		"\"off\":-1,\"len\":-1,\"dur\":0.000001,\"timestamp\":1700000000.007001}]}\n"
		/* counts begin anew after the close */
		MET "\"max_byte\":-1,\"switches\":-1,\"flushes\":-1,\"cnt\":1,\"op\":"
		"\"open\"," PAPER_SEG
		"\"off\":-1,\"len\":-1,\"dur\":0.000001,\"timestamp\":1700000000.008001}]}\n" MOD
		"\"max_byte\":99,\"switches\":0,\"flushes\":-1,\"cnt\":1,\"op\":"
		"\"write\"," PAPER_SEG
		"\"off\":0,\"len\":4,\"dur\":0.000001,\"timestamp\":1700000000.008101}]}\n");
	bench_end(&b);
}

static void csv_of_the_connector(void **st)
{
	struct bench b;

	(void)st;
	bench_begin(&b, RAMA_BUS_DIALECT_PAPER, true, false);
	rama_bus_encoder_header(b.en, &b.out);
	bench_put(&b, a_process(3, RAMA_WIRE_STATE_RUNNING, 1, 0));
	bench_put(&b, a_name(9, "/a \"b\",c"));
	bench_put(&b, a_block(3, 0, 0, story, 1));
	assert_string_equal(
		bench_text(&b),
		"#module,uid,ProducerName,switches,file,rank,flushes,record_id,exe,max_byte,type,"
		"job_id,op,cnt,seg:off,"
		"seg:pt_sel,seg:dur,seg:len,seg:ndims,seg:reg_hslab,seg:irreg_hslab,seg:data_set,"
		"seg:npoints,seg:timestamp\n"
		"\"POSIX\",\"1000\",\"node03\",-1,\"/a "
		"\"\"b\"\",c\",3,-1,9,\"/bin/\"\"app\"\"\",-1,\"MET\",77,\"open\",1,-1,-1,"
		"0.000003,-1,-1,-1,-1,\"N/A\",-1,1700000000.001003\n");
	bench_end(&b);
	bench_begin(&b, RAMA_BUS_DIALECT_UPSTREAM, true, false);
	rama_bus_encoder_header(b.en, &b.out);
	bench_put(&b, a_process(3, RAMA_WIRE_STATE_RUNNING, 1, 0));
	bench_put(&b, a_block(3, 0, 41, &story[1], 2));
	assert_string_equal(bench_text(&b),
			    "#ProducerName,cnt,exe,file,flushes,job_id,lost,max_byte,module,op,"
			    "rank,record_id,schema,seq,switches,type,"
			    "uid,seg:dur,seg:irreg_hslab,seg:len,seg:ndims,seg:npoints,seg:off,seg:"
			    "pt_sel,seg:reg_hslab,seg:start,"
			    "seg:timestamp,seg:total\n"
			    "\"node03\",1,\"N/A\",\"N/A\",-1,77,0,149,\"POSIX\",\"write\",3,9,\"N/"
			    "A\",41,0,\"MOD\",1000,0.000001,-1,100,-1,"
			    "-1,0,-1,-1,0.002000,1700000000.002001,0.000001\n"
			    "\"node03\",2,\"N/A\",\"N/A\",-1,77,0,149,\"POSIX\",\"write\",3,9,\"N/"
			    "A\",42,0,\"MOD\",1000,0.000001,-1,50,-1,"
			    "-1,100,-1,-1,0.003000,1700000000.003001,0.000002\n");
	bench_end(&b);
}

static void all_calls_when_asked_for(void **st)
{
	struct rama_bus_encoder_totals t;
	struct bench b;
	const char *text;

	(void)st;
	bench_begin(&b, RAMA_BUS_DIALECT_UPSTREAM, false, true);
	tell(&b);
	rama_bus_encoder_totals(b.en, &t);
	assert_int_equal(t.written, LENGTH(story));
	assert_int_equal(t.left_out, 0);
	text = bench_text(&b);
	assert_non_null(strstr(text, "\"op\":\"stat\""));
	assert_non_null(strstr(text, "\"failed\":1}"));
	bench_end(&b);
}

static void long_runs_are_cut(void **st)
{
	static struct step many[250];
	struct rama_bus_encoder_totals t;
	struct bench b;
	json_t *line;
	const char *at;
	size_t segs = 0;

	(void)st;
	for (unsigned i = 0; i < LENGTH(many); i++)
		many[i] =
			(struct step){ "POSIX write write", 5, i, 1, 1000 * (int64_t)i, 10, false };
	bench_begin(&b, RAMA_BUS_DIALECT_UPSTREAM, false, false);
	bench_put(&b, a_block(1, 0, 0, many, LENGTH(many)));
	at = bench_text(&b);
	for (unsigned k = 0; k < 3; k++) {
		line = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
		assert_non_null(line);
		assert_int_equal(json_integer_value(json_object_get(line, "seq")), segs);
		segs += json_array_size(json_object_get(line, "seg"));
		assert_int_equal(json_integer_value(json_object_get(line, "cnt")), segs);
		json_decref(line);
		at = strchr(at, '\n') + 1;
	}
	assert_int_equal(segs, 250);
	assert_int_equal(*at, '\0');
	rama_bus_encoder_totals(b.en, &t);
	assert_int_equal(t.lines, 3);
	bench_end(&b);
}

static void own_lines_have_everything(void **st)
{
	struct bench b;

	(void)st;
	bench_begin(&b, RAMA_BUS_DIALECT_JSON, false, false);
	bench_put(&b, a_name(9, PATH));
	bench_put(&b, a_process(3, RAMA_WIRE_STATE_RUNNING, 1, 12));
	bench_put(&b, a_block(3, 0, 45, &story[5], 1));
	assert_string_equal(
		bench_text(&b),
		"{\"type\":\"process\",\"job\":\"1000/"
		"run-17\",\"segment\":\"03000000000000000000000000000000\",\"version\":1,"
		"\"state\":\"running\",\"user\":\"anna\",\"host\":\"node03\",\"exe\":\"/bin/"
		"\\\"app\\\"\",\"command\":\"app -x\","
		"\"tag\":\"\",\"uid\":1000,\"jobid\":77,\"pid\":4003,\"rank\":3,\"nprocs\":4,"
		"\"start_ns\":1700000000000000000,"
		"\"end_ns\":0,\"seen_ns\":1700000000000000005,\"made\":12,\"dropped\":0,\"missed\":"
		"0,\"lanes\":1}\n"
		"{\"type\":\"event\",\"job\":\"1000/"
		"run-17\",\"segment\":\"03000000000000000000000000000000\",\"host\":\"node03\","
		"\"rank\":3,\"lane\":0,\"tid\":4000,\"seq\":45,\"lost\":0,\"layer\":\"POSIX\","
		"\"op\":\"read\",\"fn\":\"pread\","
		"\"record\":\"9\",\"file\":\"/scratch/a \\\"b\\\"\\u000a\xc3\xa4\\ufffd\","
		"\"file_bytes\":\"2f736372617463682f61202262220ac3a4ff\",\"start_ns\":"
		"1700000000004100000,"
		"\"end_ns\":1700000000004100600,\"dur_ns\":600,\"off\":20,\"len\":-1,\"call\":46,"
		"\"parent\":0,\"failed\":true}\n");
	bench_end(&b);
}

static void events_are_written_once(void **st)
{
	struct rama_bus_encoder_totals t;
	struct bench b;
	size_t before;

	(void)st;
	bench_begin(&b, RAMA_BUS_DIALECT_JSON, false, false);
	bench_put(&b, a_block(3, 0, 0, story, 6));
	before = b.out.used;
	bench_put(&b, a_block(3, 0, 0, story, 6));
	bench_put(&b, a_block(3, 0, 2, &story[2], 3));
	assert_int_equal(b.out.used, before);
	bench_put(&b, a_block(3, 0, 4, &story[4], 5)); /* two of them were there */
	bench_put(&b, a_block(3, 1, 0, story, 2));     /* another lane */
	bench_put(&b, a_block(4, 0, 0, story, 2));     /* another process */
	rama_bus_encoder_totals(b.en, &t);
	assert_int_equal(t.written, 6 + 3 + 2 + 2);
	assert_int_equal(t.repeated, 6 + 3 + 2);
	bench_end(&b);
}

static void damaged_blocks_write_nothing(void **st)
{
	struct rama_err e = { 0 };
	struct rama_wire_message m;
	struct bench b;

	(void)st;
	bench_begin(&b, RAMA_BUS_DIALECT_UPSTREAM, false, false);
	m = a_block(3, 0, 0, story, 6);
	((unsigned char *)(uintptr_t)m.block.bytes)[m.block.len - 1] ^= 1;
	assert_int_equal(rama_bus_encoder_put(b.en, &m, &b.out, &e), RAMA_ECORRUPT);
	assert_int_equal(b.out.used, 0);
	bench_put(&b, a_block(3, 0, 0, story, 6));
	assert_true(b.out.used > 0);
	bench_end(&b);
}

/* A process gets its rank late, and with it another job: files keep their names. */
static void a_job_found_late(void **st)
{
	struct rama_wire_message m = a_process(3, RAMA_WIRE_STATE_RUNNING, 1, 0);
	struct bench b;

	(void)st;
	bench_begin(&b, RAMA_BUS_DIALECT_JSON, true, false);
	bench_put(&b, m);
	bench_put(&b, a_name(9, "/x"));
	m.process.job = "1000/mpi-5";
	m.process.version = 2;
	m.process.rank = 12;
	bench_put(&b, m);
	m.process.version = 1; /* comes late, and says nothing new */
	m.process.rank = 0;
	bench_put(&b, m);
	bench_put(&b, a_block(3, 0, 0, &story[1], 1));
	assert_string_equal(
		bench_text(&b),
		"\"1000/"
		"mpi-5\",03000000000000000000000000000000,\"node03\",12,0,4000,0,0,\"POSIX\","
		"\"write\","
		"\"pwrite\",9,\"/x\",1700000000002000000,1700000000002001000,1000,0,100,1,0,0,\n");
	bench_end(&b);
}

/* killed at any moment and loaded again: the text goes on as if nothing had been */
static void a_saved_encoder_goes_on(void **st)
{
	struct rama_wire_bytes state = { 0 };
	struct rama_err e = { 0 };

	(void)st;
	for (unsigned d = RAMA_BUS_DIALECT_JSON; d <= RAMA_BUS_DIALECT_PAPER; d++) {
		for (uint32_t cut = 0; cut <= LENGTH(story); cut++) {
			struct bench whole, parts, second;

			bench_begin(&whole, d, false, true);
			bench_begin(&parts, d, false, true);
			for (unsigned w = 0; w < 2; w++) {
				struct bench *b = w == 0 ? &whole : &parts;

				bench_put(b, a_process(3, RAMA_WIRE_STATE_RUNNING, 1, 0));
				bench_put(b, a_name(9, PATH));
				if (cut > 0)
					bench_put(b, a_block(3, 0, 0, story, cut));
			}
			state.n = 0;
			assert_int_equal(rama_bus_encoder_save(parts.en, &state, &e), 0);
			bench_begin(&second, d, false, true);
			assert_int_equal(rama_bus_encoder_load(second.en, state.b, state.n, &e), 0);
			second.out.used = 0;
			rama_out_bytes(&second.out, parts.out.buf, parts.out.used);
			for (unsigned w = 0; w < 2;
			     w++) { /* all of it comes again: what was there is left out */
				struct bench *b = w == 0 ? &whole : &second;

				bench_put(b, a_block(3, 0, 0, story, LENGTH(story)));
				bench_put(b, a_block(3, 0, LENGTH(story), story, LENGTH(story)));
			}
			assert_string_equal(bench_text(&whole), bench_text(&second));
			bench_end(&whole);
			bench_end(&parts);
			bench_end(&second);
		}
	}
	rama_wire_bytes_fini(&state);
}

static void damaged_states_are_refused(void **st)
{
	struct rama_wire_bytes state = { 0 };
	struct rama_err e = { 0 };
	struct bench b, fresh;

	(void)st;
	bench_begin(&b, RAMA_BUS_DIALECT_UPSTREAM, false, false);
	bench_begin(&fresh, RAMA_BUS_DIALECT_UPSTREAM, false, false);
	tell(&b);
	assert_int_equal(rama_bus_encoder_save(b.en, &state, &e), 0);
	for (size_t k = 0; k < state.n; k++) {
		assert_true(rama_bus_encoder_load(fresh.en, state.b, k, &e) < 0);
		state.b[k] ^= 0x10;
		assert_true(rama_bus_encoder_load(fresh.en, state.b, state.n, &e) < 0);
		state.b[k] ^= 0x10;
	}
	assert_int_equal(fresh.en->n_processes, 0);
	assert_int_equal(rama_bus_encoder_load(fresh.en, state.b, state.n, &e), 0);
	assert_int_equal(fresh.en->n_processes, 1);
	rama_wire_bytes_fini(&state);
	bench_end(&b);
	bench_end(&fresh);
}

/* Ten thousand processes come and go: what is kept of them has a limit. */
static void ended_processes_are_forgotten(void **st)
{
	struct rama_wire_message m;
	struct bench b;
	char job[32];

	(void)st;
	bench_begin(&b, RAMA_BUS_DIALECT_UPSTREAM, false, false);
	for (unsigned k = 1; k <= 10000; k++) {
		snprintf(job, sizeof(job), "1000/run-%u", k / 4);
		m = a_process(k, RAMA_WIRE_STATE_RUNNING, 1, 0);
		m.process.job = job;
		bench_put(&b, m);
		m = a_name(9, "/some/file");
		m.names.job = job;
		bench_put(&b, m);
		bench_put(&b, a_block(k, 0, 0, story, 2));
		assert_int_equal(
			rama_bus_enc_process(b.en,
					     &(struct rama_wire_segment_key){ { k & 255, k >> 8 } })
				->n_records,
			1);
		m = a_process(k, RAMA_WIRE_STATE_ENDED, 2, 2);
		m.process.job = job;
		bench_put(&b, m);
		assert_true(b.en->n_processes <= RAMA_BUS_ENC_ENDED + 1);
		assert_true(b.en->n_jobs <= RAMA_BUS_ENC_ENDED + RAMA_BUS_ENC_IDLE + 2);
		b.out.used = 0;
	}
	for (size_t i = 0; i < b.en->n_processes; i++)
		assert_null(b.en->process[i]->record); /* all its events were seen */
	bench_end(&b);
}

static void dialects_by_name(void **st)
{
	enum rama_bus_dialect d = RAMA_BUS_DIALECT_JSON;

	(void)st;
	assert_true(rama_bus_dialect_find("paper", &d) && d == RAMA_BUS_DIALECT_PAPER);
	assert_true(rama_bus_dialect_find("upstream", &d) && d == RAMA_BUS_DIALECT_UPSTREAM);
	assert_true(rama_bus_dialect_find("json", &d) && d == RAMA_BUS_DIALECT_JSON);
	assert_false(rama_bus_dialect_find("", &d));
}

UNIT_GROUP(encode, test(upstream_is_what_readers_know), test(the_paper_is_figure_3),
	   test(csv_of_the_connector), test(all_calls_when_asked_for), test(long_runs_are_cut),
	   test(own_lines_have_everything), test(events_are_written_once),
	   test(damaged_blocks_write_nothing), test(a_job_found_late),
	   test(a_saved_encoder_goes_on), test(damaged_states_are_refused),
	   test(ended_processes_are_forgotten), test(dialects_by_name))
