/* SPDX-License-Identifier: BSD-3-Clause */
/* fields.h: the words a counters_*.def file is written in. Every word ends up as FIELD or PAST,
 * which the file that includes the rows defines.
 *
 *   C(name, since, reduce, doc)     64-bit integer counter
 *   U(name, since, reduce, doc)     unsigned counter (an id); 0 where an old log lacks it
 *   F(name, since, reduce, doc)     double; time in seconds unless the name says otherwise
 *   REF(name, since, doc)           record id of the containing file; printed after the counters
 *   HID(name, doc)                  word of the record that is no counter
 *   RAW(name, words, type, doc)     bytes that no byte order touches: TEXT or UUID
 *   GONE(name, since, until)        word of old versions only; dropped when read
 *
 * Rows stand in the order of the newest version on disk; that order never changes. `since` is the
 * version of the module's records that introduced the row: older logs read it as -1 (U, REF: 0).
 *
 * reduce says how the values of several ranks become one:
 *   SUM, SUM_NEG (a negative sum becomes -1), MAX, MIN_NZ (smallest above 0), KEEP (the later one),
 *   ANY (1 if any is 1); LEAD_READ/LEAD_WRITE (larger wins) with WITH_READ/WITH_WRITE travelling
 *   along; FAST_..., SLOW_... (rank, bytes and time travel together); VAR_... (variance over
 *   ranks); ACCESS_..., STRIDE_... (lists of the four most frequent values and their counts). */
#define C(n, since, red, doc) FIELD(n, 1, I64, COUNTER, since, red, doc)
#define U(n, since, red, doc) FIELD(n, 1, U64, COUNTER, since, red, doc)
#define F(n, since, red, doc) FIELD(n, 1, F64, COUNTER, since, red, doc)
#define REF(n, since, doc) FIELD(n, 1, U64, LAST, since, KEEP, doc)
#define HID(n, doc) FIELD(n, 1, I64, HIDDEN, 1, KEEP, doc)
#define RAW(n, words, type, doc) FIELD(n, words, type, HIDDEN, 1, KEEP, doc)
#define GONE(n, since, until) PAST(n, since, until)

/* ten size ranges; a range ends at and includes its upper bound */
#define HIST(n, what)                                             \
	C(n##_0_100, 1, SUM, what " of 0 to 100 bytes")           \
	C(n##_100_1K, 1, SUM, what " of 101 bytes to 1 KiB")      \
	C(n##_1K_10K, 1, SUM, what " above 1 KiB, to 10 KiB")     \
	C(n##_10K_100K, 1, SUM, what " above 10 KiB, to 100 KiB") \
	C(n##_100K_1M, 1, SUM, what " above 100 KiB, to 1 MiB")   \
	C(n##_1M_4M, 1, SUM, what " above 1 MiB, to 4 MiB")       \
	C(n##_4M_10M, 1, SUM, what " above 4 MiB, to 10 MiB")     \
	C(n##_10M_100M, 1, SUM, what " above 10 MiB, to 100 MiB") \
	C(n##_100M_1G, 1, SUM, what " above 100 MiB, to 1 GiB")   \
	C(n##_1G_PLUS, 1, SUM, what " above 1 GiB")

/* four most frequent values, then how often each occurred; 0 = slot unused */
#define TOP4(n, what)                                           \
	C(n##1_##n, 1, n##_VALUE, "most frequent " what)        \
	C(n##2_##n, 1, n##_VALUE, "second most frequent " what) \
	C(n##3_##n, 1, n##_VALUE, "third most frequent " what)  \
	C(n##4_##n, 1, n##_VALUE, "fourth most frequent " what) \
	TOP4_COUNTS(n, what)
#define TOP4_COUNTS(n, what)                                                     \
	C(n##1_COUNT, 1, n##_COUNT, "times the most frequent " what " occurred") \
	C(n##2_COUNT, 1, n##_COUNT, "times the second " what " occurred")        \
	C(n##3_COUNT, 1, n##_COUNT, "times the third " what " occurred")         \
	C(n##4_COUNT, 1, n##_COUNT, "times the fourth " what " occurred")

/* the same for accesses to arrays: size, then length and stride of the last five dimensions */
#define TOP4_WIDE(n)                                      \
	TOP4_SLOT(n, n##1, "most frequent access")        \
	TOP4_SLOT(n, n##2, "second most frequent access") \
	TOP4_SLOT(n, n##3, "third most frequent access")  \
	TOP4_SLOT(n, n##4, "fourth most frequent access") \
	TOP4_COUNTS(n, "access")
#define TOP4_SLOT(n, slot, what)                                                               \
	C(slot##_##n, 1, n##_VALUE, what ": size in bytes")                                    \
	C(slot##_LENGTH_D1, 1, n##_MORE, what ": length in the fastest dimension")             \
	C(slot##_LENGTH_D2, 1, n##_MORE, what ": length in the second dimension from the end") \
	C(slot##_LENGTH_D3, 1, n##_MORE, what ": length in the third dimension from the end")  \
	C(slot##_LENGTH_D4, 1, n##_MORE, what ": length in the fourth dimension from the end") \
	C(slot##_LENGTH_D5, 1, n##_MORE, what ": length in the fifth dimension from the end")  \
	C(slot##_STRIDE_D1, 1, n##_MORE, what ": stride in the fastest dimension")             \
	C(slot##_STRIDE_D2, 1, n##_MORE, what ": stride in the second dimension from the end") \
	C(slot##_STRIDE_D3, 1, n##_MORE, what ": stride in the third dimension from the end")  \
	C(slot##_STRIDE_D4, 1, n##_MORE, what ": stride in the fourth dimension from the end") \
	C(slot##_STRIDE_D5, 1, n##_MORE, what ": stride in the fifth dimension from the end")

#define FASTEST_SLOWEST()                                                                  \
	C(FASTEST_RANK, 1, FAST_RANK, "rank with the least I/O time; shared records only") \
	C(FASTEST_RANK_BYTES, 1, FAST_BYTES, "bytes moved by the fastest rank")            \
	C(SLOWEST_RANK, 1, SLOW_RANK, "rank with the most I/O time; shared records only")  \
	C(SLOWEST_RANK_BYTES, 1, SLOW_BYTES, "bytes moved by the slowest rank")

#define RANK_TIMES()                                                                              \
	F(F_FASTEST_RANK_TIME, 1, FAST_TIME, "read, write and metadata time of the fastest rank") \
	F(F_SLOWEST_RANK_TIME, 1, SLOW_TIME, "read, write and metadata time of the slowest rank")
#define VARIANCES()                                               \
	F(F_VARIANCE_RANK_TIME, 1, VAR_TIME,                      \
	  "variance over ranks of read, write and metadata time") \
	F(F_VARIANCE_RANK_BYTES, 1, VAR_BYTES, "variance over ranks of bytes moved")

/* `since` of the first close and the last open differs: the older modules did not have them */
#define TIMES(since)                                                                        \
	F(F_OPEN_START_TIMESTAMP, 1, MIN_NZ, "start of the first open")                     \
	F(F_READ_START_TIMESTAMP, 1, MIN_NZ, "start of the first read")                     \
	F(F_WRITE_START_TIMESTAMP, 1, MIN_NZ, "start of the first write")                   \
	F(F_CLOSE_START_TIMESTAMP, since, MIN_NZ, "start of the first close")               \
	F(F_OPEN_END_TIMESTAMP, since, MAX, "end of the last open")                         \
	F(F_READ_END_TIMESTAMP, 1, MAX, "end of the last read")                             \
	F(F_WRITE_END_TIMESTAMP, 1, MAX, "end of the last write")                           \
	F(F_CLOSE_END_TIMESTAMP, 1, MAX, "end of the last close")                           \
	F(F_READ_TIME, 1, SUM, "time in reads, overlapping calls counted once")             \
	F(F_WRITE_TIME, 1, SUM, "time in writes and syncs, overlapping calls counted once") \
	F(F_META_TIME, 1, SUM, "time in metadata calls, overlapping calls counted once")    \
	F(F_MAX_READ_TIME, 1, LEAD_READ, "longest single read")                             \
	F(F_MAX_WRITE_TIME, 1, LEAD_WRITE, "longest single write")
