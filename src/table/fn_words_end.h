/* SPDX-License-Identifier: BSD-3-Clause */
/* fn_words_end.h: see fn_words.h */
#undef FN
#undef FN_MODE
#undef FN_HAND
#undef FN_HAND0
#undef FN_FMT
#undef FN_SCAN
#undef FN_SCAN0
#undef FN_EXECL
#undef FN_JUMP
#undef FN_ASM
#undef FN_MPI
#undef FN_MPI4
#undef FN_MPIP
#undef FN_MPIE
#undef FN_MPIW
#undef FN_MPIH
#undef FN_MPI0
#undef FN_NC
#undef FN_NCF
#undef FN_NCH
#undef FN_KIND
#undef NEED
