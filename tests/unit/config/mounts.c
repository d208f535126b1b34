/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "config/mounts.h"

static struct rama_config_mounts m;

static const char text[] = "sysfs /sys sysfs rw,nosuid 0 0\n"
			   "proc /proc proc rw 0 0\n"
			   "server:/home /home nfs rw,vers=3 0 0\n"
			   "/dev/sda1 / ext4 rw 0 0\n"
			   "tmpfs /dev/shm tmpfs rw 0 0\n"
			   "server:/apps /apps nfs4 rw 0 0\n"
			   "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
			   "cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n"
			   "10.0.0.1@tcp:/lus /lustre/scratch lustre rw 0 0\n"
			   "/dev/sdb1 /mnt/my\\040disk\\134x xfs rw 0 0\n"
			   "/dev/sdc1 / ext4 rw 0 0\n"
			   "/dev/sdd1 / btrfs rw 0 0\n"
			   "broken\n"
			   "half /half\n"
			   "\n"
			   "/dev/sde1 /last xfs"; /* no newline */

static void expect(unsigned i, const char *path, const char *type)
{
	assert_true(i < m.n);
	assert_string_equal(rama_config_mount_path(&m, i), path);
	assert_string_equal(rama_config_mount_type(&m, i), type);
	assert_int_equal(m.mount[i].path_len, strlen(path));
	assert_true(m.mount[i].block == 0);
}

static void order_and_types(void **state)
{
	(void)state;
	rama_config_mounts_parse(&m, text, strlen(text));
	expect(0, "/", "ext4");
	expect(1, "/apps", "nfs4");
	expect(2, "/sys/fs/cgroup", "cgroup2");
	expect(3, "/lustre/scratch", "lustre");
	expect(4, "/mnt/my disk\\x", "xfs");
	expect(5, "/", "btrfs"); /* same path, other type */
	expect(6, "/last", "xfs");
	expect(7, "/home", "nfs"); /* nfs comes last */
	assert_int_equal(m.n, 8);
}

static void find(const char *path, const char *truth)
{
	int i = rama_config_mounts_find(&m, path, strlen(path));

	if (truth == NULL)
		assert_int_equal(i, -1);
	else
		assert_string_equal(rama_config_mount_path(&m, (unsigned)i), truth);
}

static void the_longest_holds_a_path(void **state)
{
	(void)state;
	rama_config_mounts_parse(&m, text, strlen(text));
	find("/home/u/a", "/home");
	find("/home", "/home");
	find("/homework", "/");
	find("/lustre/scratch/x", "/lustre/scratch");
	find("/lustre/other", "/");
	find("/mnt/my disk\\x/f", "/mnt/my disk\\x");
	find("/", "/");
	find("<STDIN>", NULL);
	find("", NULL);
	assert_string_equal(
		rama_config_mount_type(&m, (unsigned)rama_config_mounts_find(&m, "/a", 2)), "ext4");
	rama_config_mounts_parse(&m, "d /a xfs\n", 9);
	find("/b", NULL);
	find("/a/b", "/a");
	rama_config_mounts_parse(&m, "", 0);
	find("/a", NULL);
}

static void many_mounts(void **state)
{
	static char many[200 * 64];
	size_t n = 0;

	(void)state;
	n += (size_t)snprintf(many + n, sizeof(many) - n, "s:/h /home nfs rw\n");
	for (int i = 0; i < 100; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n, "d%d /mnt/%d ext4 rw\n", i, i);
	rama_config_mounts_parse(&m, many, n);
	assert_int_equal(m.n, 64);
	expect(63, "/mnt/63", "ext4"); /* nfs found no room */

	/* paths that use up the memory: what came before stays */
	n = 0;
	for (int i = 0; i < 12; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n, "d /%0*d xfs\n", 1000, i);
	rama_config_mounts_parse(&m, many, n);
	assert_int_equal(m.n, 8);
	rama_config_mounts_parse(&m, "d /a xfs\n", 9);
	expect(0, "/a", "xfs");
}

static void lines_for_the_segment(void **state)
{
	char to[256], line[600];
	size_t len;

	(void)state;
	rama_config_mounts_parse(&m, "d /a xfs\nd /b\\011c ext4\nd /c\\040d ext4\ns /n nfs\n", 49);
	assert_int_equal(m.n, 4);
	len = rama_config_mounts_encode(&m, to, sizeof(to));
	assert_int_equal(len, strlen(to));
	assert_string_equal(to, "/a\txfs\n/c d\text4\n/n\tnfs\n");
	/* whole lines only */
	assert_int_equal(rama_config_mounts_encode(&m, to, 17), 7 + 7);
	assert_string_equal(to, "/a\txfs\n/n\tnfs\n");
	assert_int_equal(rama_config_mounts_encode(&m, to, 8), 7);
	assert_int_equal(rama_config_mounts_encode(&m, to, 7), 0);
	assert_int_equal(rama_config_mounts_encode(&m, to, 0), 0);
	/* a line of the log is shorter than 256 */
	for (int n = 248; n < 254; n++) {
		snprintf(line, sizeof(line), "d /%0*d xfs\n", n - 1, 0);
		rama_config_mounts_parse(&m, line, strlen(line));
		assert_int_equal(m.n, 1);
		assert_int_equal(rama_config_mounts_encode(&m, line, sizeof(line)),
				 n + 5 < 256 ? n + 5 : 0);
	}
}

static bool is_on(const char *path, const char *type)
{
	return rama_config_mounts_is_on(&m, path, path ? strlen(path) : 0, type);
}

static void type_of_a_path(void **state)
{
	static const char lines[] =
		"d / ext4\n10.0.0.1@tcp:/l /scratch lustre rw\nt /scratch/fast tmpfs\n"
		"d /scratch/local xfs\n";

	(void)state;
	rama_config_mounts_parse(&m, lines, sizeof(lines) - 1);
	assert_true(is_on("/scratch", "lustre"));
	assert_true(is_on("/scratch/a/b", "lustre"));
	assert_false(is_on("/scratchy/a", "lustre"));
	assert_false(is_on("/scratch/local/a", "lustre"));
	assert_false(is_on("/home/a", "lustre"));
	assert_true(is_on("/home/a", "ext4"));
	assert_false(is_on("/scratch/a", "lus"));
	assert_false(is_on("/scratch/a", "lustre_"));
	assert_false(is_on("", "lustre"));
	assert_true(is_on(NULL, "lustre"));
	assert_true(is_on(NULL, "xfs"));
	assert_false(is_on(NULL, "gpfs"));
	rama_config_mounts_parse(&m, "", 0);
	assert_false(is_on("/scratch/a", "lustre"));
	assert_false(is_on(NULL, "lustre"));
}

UNIT_GROUP(mounts, test(order_and_types), test(the_longest_holds_a_path), test(many_mounts),
	   test(lines_for_the_segment), test(type_of_a_path))
