! SPDX-License-Identifier: BSD-3-Clause
! truth_f08.f90 FOLDER: what a Fortran program does through `use mpi_f08`; see truth.c for the lines it prints.
program truth
  use mpi_f08
  implicit none
  type(MPI_File) :: fh
  type(MPI_Datatype) :: tile, strided
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  type(MPI_Info) :: info
  integer(kind=MPI_OFFSET_KIND) :: off
  integer :: rank, nranks, unit
  double precision :: field(100)
  character(len=2048) :: folder, path, other, prefix
  character(len=16) :: word

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks)
  call get_command_argument(1, folder)
  path = trim(folder) // '/field'
  field = rank

  ! rank r has the blocks r, r + nranks, ... of 10 numbers
  call MPI_Info_create(info)
  call MPI_Info_set(info, 'cb_buffer_size', '65536')
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, info, fh)
  call MPI_Info_free(info)
  call MPI_Type_create_subarray(1, [10 * nranks], [10], [10 * rank], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, tile)
  call MPI_Type_commit(tile)
  off = 0
  call MPI_File_set_view(fh, off, MPI_DOUBLE_PRECISION, tile, 'native', MPI_INFO_NULL)
  call MPI_File_write_all(fh, field, 100, MPI_DOUBLE_PRECISION, status)
  call MPI_File_read_at_all(fh, off, field, 20, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE)
  call MPI_File_set_view(fh, off, MPI_BYTE, MPI_BYTE, 'native', MPI_INFO_NULL)
  off = rank * 800
  call MPI_File_iwrite_at(fh, off, field, 20, MPI_DOUBLE_PRECISION, request)
  call MPI_Wait(request, status)
  call MPI_File_write_at_all_begin(fh, off, field, 2, MPI_DOUBLE_PRECISION)
  call MPI_File_write_at_all_end(fh, field, status)
  call MPI_File_close(fh)
  call MPI_Type_free(tile)

  ! what has gaps in memory, calls in two halves, and the pointer that all share
  other = trim(folder) // '/other'
  call MPI_Type_vector(5, 2, 4, MPI_DOUBLE_PRECISION, strided)
  call MPI_Type_commit(strided)
  call MPI_File_open(MPI_COMM_WORLD, trim(other), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, fh)
  off = 100000
  call MPI_File_set_size(fh, off)
  off = rank * 1000
  call MPI_File_seek(fh, off, MPI_SEEK_SET)
  call MPI_File_write(fh, field, 2, strided, status)
  call MPI_File_write_shared(fh, field, 3, MPI_DOUBLE_PRECISION, status)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_File_write_ordered(fh, field, 3, MPI_DOUBLE_PRECISION, status)
  call MPI_File_read_at(fh, off, field, 1, strided, status)
  call MPI_File_read_shared(fh, field, 4, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_File_read_ordered_begin(fh, field, 5, MPI_DOUBLE_PRECISION)
  call MPI_File_read_ordered_end(fh, field, status)
  call MPI_File_iread(fh, field, 30, MPI_DOUBLE_PRECISION, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_File_close(fh)
  call MPI_Type_free(strided)

  call get_environment_variable('TRUTH_FILE', prefix)
  write(word, '(i0)') rank
  open(newunit=unit, file=trim(prefix) // '.' // trim(word), status='replace', action='write')
  if (nranks > 1) then
    call say('COLL_OPENS', 1)
  else
    call say('INDEP_OPENS', 1)
  end if
  call say('MODE', MPI_MODE_CREATE + MPI_MODE_RDWR)
  call say('HINTS', 1)
  call say('VIEWS', 2)
  call say('COLL_WRITES', 1)
  call say('COLL_READS', 1)
  call say('NB_WRITES', 1)
  call say('SPLIT_WRITES', 1)
  call say('BYTES_WRITTEN', 800 + 160 + 16)
  call say('BYTES_READ', 160)
  call say('RW_SWITCHES', 2)
  call say('SIZE_WRITE_AGG_0_100', 1)
  call say('SIZE_WRITE_AGG_100_1K', 2)
  call say('SIZE_READ_AGG_100_1K', 1)
  call event('w', rank * 80, 800)
  call event('r', rank * 80, 160)
  call event('w', rank * 800, 160)
  call event('w', rank * 800, 16)
  path = other
  if (nranks > 1) then
    call say('COLL_OPENS', 1)
  else
    call say('INDEP_OPENS', 1)
  end if
  call say('MODE', MPI_MODE_CREATE + MPI_MODE_RDWR)
  call say('INDEP_WRITES', 2)
  call say('COLL_WRITES', 1)
  call say('INDEP_READS', 2)
  call say('SPLIT_READS', 1)
  call say('NB_READS', 1)
  call say('BYTES_WRITTEN', 160 + 24 + 24)
  call say('BYTES_READ', 80 + 32 + 40 + 240)
  call say('RW_SWITCHES', 1)
  call say('SIZE_WRITE_AGG_0_100', 2)
  call say('SIZE_WRITE_AGG_100_1K', 1)
  call say('SIZE_READ_AGG_0_100', 3)
  call say('SIZE_READ_AGG_100_1K', 1)
  call event('w', rank * 1000, 160)
  call event('w', -2, 24) ! any
  call event('w', -2, 24)
  call event('r', rank * 1000, 80)
  call event('r', -2, 32)
  call event('r', -2, 40)
  call event('r', rank * 1000 + 160, 240)
  close(unit)
  call MPI_Finalize()

contains

  subroutine say(counter, value)
    character(len=*), intent(in) :: counter
    integer, intent(in) :: value
    write(unit, '(a,i0,5a,i0)') 'TRUTH 0 ', rank, ' ', trim(path), ' MPIIO_', counter, ' ', value
  end subroutine say

  subroutine event(kind, at, length)
    character(len=1), intent(in) :: kind
    integer, intent(in) :: at, length
    write(unit, '(a,i0,4a,i0,1x,i0)') 'DXT 0 ', rank, ' ', trim(path), ' ', kind // ' ', at, length
  end subroutine event

end program truth
