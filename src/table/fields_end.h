/* SPDX-License-Identifier: BSD-3-Clause */
/* fields_end.h: takes the words of fields.h back. */
#undef C
#undef U
#undef F
#undef REF
#undef HID
#undef RAW
#undef GONE
#undef HIST
#undef TOP4
#undef TOP4_COUNTS
#undef TOP4_WIDE
#undef TOP4_SLOT
#undef FASTEST_SLOWEST
#undef RANK_TIMES
#undef VARIANCES
#undef TIMES
