/* SPDX-License-Identifier: BSD-3-Clause */
/* sample.c: figures of machines that are made up, file by file. */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "agent/sample.h"
#include "table/metrics.h"

#define SECOND 1000000000ll

static char root[64];

static void make_root(void)
{
	snprintf(root, sizeof(root), "/tmp/iorama-sample-XXXXXX");
	assert_non_null(mkdtemp(root));
}

static void remove_root(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0);
}

/* a file below the root; its directories are made */
static void put_bytes(const char *path, const char *text, size_t n)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *p = full + strlen(root) + 1; *p != '\0'; p++)
		if (*p == '/') {
			*p = '\0';
			mkdir(full, 0755);
			*p = '/';
		}
	f = fopen(full, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	fclose(f);
}

static void put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

static struct rama_wire_msg_figure *figure;
static int64_t n_figures;

static void take(struct rama_agent_sampler *s, int64_t seconds)
{
	struct rama_err e = { 0 };

	n_figures = rama_agent_sampler_take(s, seconds * SECOND, &figure, &e);
	assert_true(n_figures >= 0);
}

static const double *find(const char *name)
{
	for (int64_t i = 0; i < n_figures; i++)
		if (strcmp(figure[i].metric, name) == 0)
			return &figure[i].value;
	return NULL;
}

static void is(const char *name, double v)
{
	const double *found = find(name);

	if (found == NULL)
		fail_msg("%s is not there", name);
	if (*found < v - 1e-6 || *found > v + 1e-6)
		fail_msg("%s is %f, not %f", name, *found, v);
}

static struct rama_agent_sampler *begin(void)
{
	struct rama_agent_sampler *s;
	struct rama_err e = { 0 };

	assert_int_equal(rama_agent_sampler_create(&s, root, &e), 0);
	return s;
}

static void gauges_are_told_as_they_are(void **state)
{
	struct rama_agent_sampler *s;

	(void)state;
	make_root();
	put("proc/meminfo",
	    "MemTotal:       16000 kB\nMemFree:  8000 kB\nMemAvailable: 1 kB\nDirty:\t12 kB\n");
	put("proc/loadavg", "0.50 1.25 2.00 3/456 789\n");
	s = begin();
	take(s, 1);
	is("memory.total", 16000 * 1024.0);
	is("memory.free", 8000 * 1024.0);
	is("memory.dirty", 12 * 1024.0);
	is("load.1", 0.5);
	is("load.15", 2);
	assert_null(find("cpu.user"));
	rama_agent_sampler_destroy(s);
	remove_root();
}

static void counters_become_gains_per_second(void **state)
{
	struct rama_agent_sampler *s;

	(void)state;
	make_root();
	put("proc/stat",
	    "cpu  1000 0 500 9000 0 0 0 0 0 0\ncpu0 1 2 3\nctxt 5000\nprocs_running 3\n");
	put("proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n"
				"full avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n");
	s = begin();
	take(s, 10);
	assert_null(find("cpu.user")); /* nothing to compare with */
	is("cpu.running", 3);
	put("proc/stat", "cpu  1300 0 500 9100 0 0 0 0 0 0\nctxt 7000\nprocs_running 1\n");
	put("proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n"
				"full avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n");
	take(s, 12);
	is("cpu.user", 1.5); /* 300 hundredths in 2 s */
	is("cpu.idle", 0.5);
	is("cpu.switches", 1000);
	is("pressure.io.some", 0.5);
	is("pressure.io.full", 0);
	put("proc/stat", "cpu  10 0 0 0 0 0 0 0 0 0\nctxt 7000\n"); /* begun anew */
	take(s, 13);
	assert_null(find("cpu.user"));
	is("cpu.switches", 0);
	rama_agent_sampler_destroy(s);
	remove_root();
}

static void each_interface_and_each_disk(void **state)
{
	static const char net[] =
		"Inter-|   Receive                                                |  Transmit\n"
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    "
		"packets errs\n"
		"    lo: %d 1 0 0 0 0 0 0 5 6 0 0 0 0 0 0\n"
		"  eth0:%d 10 0 0 0 0 0 0 %d 20 0 0 0 0 0 0\n";
	char text[1000];
	struct rama_agent_sampler *s;

	(void)state;
	make_root();
	mkdir(root, 0755);
	put("sys/block/sda/size", "1\n");
	put("proc/diskstats", "   8       0 sda 100 0 2000 50 10 0 400 20 3 60 70\n   8       1 "
			      "sda1 100 0 2000 50 10 0 400 20 0 60 70\n"
			      "   7       0 loop0 1 2 3 4 5 6 7 8 9 10 11\n");
	snprintf(text, sizeof(text), net, 77, 1000, 5000);
	put("proc/net/dev", text);
	s = begin();
	take(s, 1);
	is("disk.sda.in_flight", 3);
	assert_null(find("disk.sda1.in_flight"));
	assert_null(find("disk.loop0.in_flight"));
	snprintf(text, sizeof(text), net, 99, 3000, 5500);
	put("proc/net/dev", text);
	put("proc/diskstats", "   8       0 sda 110 0 2100 50 10 0 400 20 0 560 70\n");
	take(s, 2);
	is("net.eth0.rx_bytes", 2000);
	is("net.eth0.tx_bytes", 500);
	assert_null(find("net.lo.rx_bytes"));
	is("disk.sda.reads", 10);
	is("disk.sda.read_bytes", 100 * 512);
	is("disk.sda.busy", 0.5);
	rama_agent_sampler_destroy(s);
	remove_root();
}

static void put_nfs(int a)
{
	char text[2000];

	snprintf(text, sizeof(text),
		 "device rootfs mounted on / with fstype ext4\n"
		 "device server:/export/home mounted on /home/all with fstype nfs4 statvers=1.1\n"
		 "\topts:\trw,vers=4.2\n\t age:\t100\n\tbytes:\t%d 200 0 0 %d 400 7 8\n"
		 "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\txprt:\ttcp 0 1 2\n\tper-op "
		 "statistics\n"
		 "\t        NULL: 1 1 0 44 24 0 0 0 0\n\t        READ: %d %d 0 1 2 3 4 %d 0\n"
		 "device server:/export/x mounted on /x with fstype nfs statvers=1.1\n\tbytes:\t%d "
		 "0 0 0 0 0 0 0\n",
		 1000 + a, 3000 + 2 * a, 10 + a, 10 + a, 500 + a, 5 * a);
	put("proc/self/mountstats", text);
	snprintf(text, sizeof(text), "net 0 0 0 0\nrpc %d 3 0\nproc4 10 0 1 2\n", 100 + a);
	put("proc/net/rpc/nfs", text);
}

static void mounts_of_nfs(void **state)
{
	struct rama_agent_sampler *s;

	(void)state;
	make_root();
	put_nfs(0);
	s = begin();
	take(s, 1);
	put_nfs(100);
	take(s, 2);
	is("nfs.home_all.app_read", 100);
	is("nfs.home_all.read_bytes", 200);
	is("nfs.home_all.reads", 100);
	is("nfs.home_all.read_time", 0.1);
	is("nfs.x.app_read", 500);
	is("nfs.calls", 100);
	is("nfs.retransmits", 0);
	rama_agent_sampler_destroy(s);
	remove_root();
}

static void put_lustre(const char *base, int a)
{
	char path[200], text[1000];

	snprintf(path, sizeof(path), "%s/llite/scratch-ffff8801/stats", base);
	snprintf(text, sizeof(text),
		 "snapshot_time             1700000000.123 secs.nsecs\nread_bytes                "
		 "%d samples [bytes] 1 4096 %d 99\n"
		 "write_bytes               5 samples [bytes] 1 4096 %d 99\nopen                   "
		 "   %d samples [usec] 1 2 3 4\n",
		 10 + a, 1000 * a, 500 * a, 7 + a);
	put(path, text);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/osc/scratch-OST000%d-osc-ffff8801/stats", base, i);
		snprintf(text, sizeof(text), "req_waittime   %d samples [usec] 10 20 %d 1\n",
			 10 + a, 1000000 * a);
		put(path, text);
	}
}

static void lustre_where_it_is(const char *base)
{
	struct rama_agent_sampler *s;

	make_root();
	put_lustre(base, 0);
	s = begin();
	take(s, 1);
	put_lustre(base, 2);
	take(s, 2);
	is("lustre.scratch.reads", 2);
	is("lustre.scratch.read_bytes", 2000);
	is("lustre.scratch.write_bytes", 1000);
	is("lustre.scratch.opens", 2);
	is("lustre.scratch.osc_requests", 6); /* of three targets */
	is("lustre.scratch.osc_wait", 6);
	rama_agent_sampler_destroy(s);
	remove_root();
}

static void lustre(void **state)
{
	(void)state;
	lustre_where_it_is("sys/kernel/debug/lustre");
	lustre_where_it_is("proc/fs/lustre");
}

static void hostile_files_give_no_figures(void **state)
{
	static const char odd[] = "cpu: \n\t0123456789=.-e*/%\0device on";
	char *large = malloc(3 << 20);
	struct rng r = { .state = 3 };
	struct rama_agent_sampler *s;
	char path[256];

	(void)state;
	make_root();
	s = begin();
	take(s, 1);
	assert_int_equal(n_figures, 0); /* nothing is there */
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < RAMA_TAB_SOURCES; i++) {
			size_t n = rng_below(&r, round == 0 ? 3 << 20 : 3000);

			for (size_t k = 0; k < n; k++)
				large[k] = round % 2 ? (char)rng_u64(&r)
						     : odd[rng_below(&r, sizeof(odd))];
			snprintf(path, sizeof(path), "%s", rama_tab_metric_sources[i].path);
			if (strchr(path, '*') != NULL)
				*strchr(path, '*') = 'x';
			put_bytes(path, large, n);
		}
		take(s, 2 + round);
		for (int64_t i = 0; i < n_figures; i++) {
			assert_true(strlen(figure[i].metric) < sizeof(figure[i].metric));
			assert_true(figure[i].value == figure[i].value && figure[i].value < 1e25);
		}
	}
	put("proc/stat", "cpu  1e999 -5 99999999999999999999999999 nan inf 0x10\ncpu\n");
	put("proc/loadavg", "");
	put("proc/meminfo", "MemTotal: x kB\nMemFree:\n:::\n");
	take(s, 100);
	assert_null(find("memory.total"));
	assert_null(find("load.1"));
	rama_agent_sampler_destroy(s);
	free(large);
	remove_root();
}

static void a_file_that_is_none(void **state)
{
	char path[128];
	struct rama_agent_sampler *s;

	(void)state;
	make_root();
	put("proc/x", "");
	snprintf(path, sizeof(path), "%s/proc/stat", root);
	assert_int_equal(mkfifo(path, 0600), 0); /* would wait for ever */
	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	assert_int_equal(mkdir(path, 0700), 0);
	s = begin();
	take(s, 1);
	assert_int_equal(n_figures, 0);
	rama_agent_sampler_destroy(s);
	remove_root();
}

static void rows_are_in_order(void **state)
{
	(void)state;
	for (unsigned i = 1; i < rama_tab_n_metrics; i++)
		assert_true(rama_tab_metrics[i].source >= rama_tab_metrics[i - 1].source);
	for (unsigned i = 0; i < rama_tab_n_metrics; i++)
		assert_true(rama_tab_metrics[i].field >= 1 &&
			    strlen(rama_tab_metrics[i].name) < 48);
}

UNIT_GROUP(sample, test(gauges_are_told_as_they_are), test(counters_become_gains_per_second),
	   test(each_interface_and_each_disk), test(mounts_of_nfs), test(lustre),
	   test(hostile_files_give_no_figures), test(a_file_that_is_none), test(rows_are_in_order))
