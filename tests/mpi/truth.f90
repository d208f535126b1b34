! SPDX-License-Identifier: BSD-3-Clause
! truth.f90 FILE: what a Fortran program does through `use mpi`; see truth.c for the lines it prints. The number of its
! process is not known to it: 0 stands for any.
program truth
  use mpi
  implicit none
  integer :: ierr, rank, fh, view, nranks, i, unit, strided
  integer :: request, status(MPI_STATUS_SIZE)
  integer(kind=MPI_OFFSET_KIND) :: off
  integer :: numbers(250)
  character(len=1024) :: name, other, dir, truth_file, mode_text

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
  call get_command_argument(1, name)
  numbers = rank
  call MPI_File_open(MPI_COMM_WORLD, trim(name), ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, fh, ierr)
  if (ierr /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 9, ierr)
  off = rank * 4000
  call MPI_File_set_view(fh, off, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
  do i = 0, 2
    off = i * 250
    call MPI_File_write_at(fh, off, numbers, 250, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  end do
  call MPI_File_write_all(fh, numbers, 250, MPI_INTEGER, status, ierr)
  off = 0
  call MPI_File_iread_at(fh, off, numbers, 100, MPI_INTEGER, request, ierr)
  call MPI_Wait(request, status, ierr)
  call MPI_File_sync(fh, ierr)
  call MPI_File_close(fh, ierr)

  ! what has gaps in memory, calls in two halves, and the pointer that all share
  other = trim(name) // '.other'
  call MPI_Type_vector(10, 5, 8, MPI_INTEGER, strided, ierr)
  call MPI_Type_commit(strided, ierr)
  call MPI_File_open(MPI_COMM_WORLD, trim(other), ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, fh, ierr)
  if (ierr /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 9, ierr)
  off = 100000
  call MPI_File_set_size(fh, off, ierr)
  off = rank * 1000
  call MPI_File_write_at(fh, off, numbers, 1, strided, status, ierr)
  call MPI_File_write_at_all_begin(fh, off, numbers, 60, MPI_INTEGER, ierr)
  call MPI_File_write_at_all_end(fh, numbers, status, ierr)
  call MPI_File_write_shared(fh, numbers, 25, MPI_INTEGER, status, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_File_read_ordered(fh, numbers, 25, MPI_INTEGER, status, ierr)
  call MPI_File_seek(fh, off, MPI_SEEK_SET, ierr)
  call MPI_File_read(fh, numbers, 2, strided, status, ierr)
  call MPI_File_read_all_begin(fh, numbers, 10, MPI_INTEGER, ierr)
  call MPI_File_read_all_end(fh, numbers, status, ierr)
  call MPI_File_close(fh, ierr)
  call MPI_Type_free(strided, ierr)

  call get_environment_variable('PWD', dir)
  call get_environment_variable('TRUTH_FILE', truth_file)
  do view = 0, nranks - 1
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (view /= rank) cycle
    if (rank == 0) then
      open(newunit=unit, file=trim(truth_file), status='replace', action='write')
    else
      open(newunit=unit, file=trim(truth_file), position='append', action='write')
    end if
    if (nranks > 1) then
      call say('COLL_OPENS', 1)
    else
      call say('INDEP_OPENS', 1)
    end if
    call say('MODE', ior(MPI_MODE_CREATE, MPI_MODE_RDWR))
    call say('VIEWS', 1)
    call say('INDEP_WRITES', 3)
    call say('COLL_WRITES', 1)
    call say('NB_READS', 1)
    call say('SYNCS', 1)
    call say('RW_SWITCHES', 1)
    call say('BYTES_WRITTEN', 4000)
    call say('BYTES_READ', 400)
    call say('SIZE_WRITE_AGG_100_1K', 4)
    call say('SIZE_READ_AGG_100_1K', 1)
    call event('w', rank * 4000, 1000)
    call event('w', rank * 4000 + 1000, 1000)
    call event('w', rank * 4000 + 2000, 1000)
    call event('w', rank * 4000, 1000)
    call event('r', rank * 4000, 400)
    name = other
    if (nranks > 1) then
      call say('COLL_OPENS', 1)
    else
      call say('INDEP_OPENS', 1)
    end if
    call say('MODE', ior(MPI_MODE_CREATE, MPI_MODE_RDWR))
    call say('INDEP_WRITES', 2)
    call say('SPLIT_WRITES', 1)
    call say('COLL_READS', 1)
    call say('INDEP_READS', 1)
    call say('SPLIT_READS', 1)
    call say('RW_SWITCHES', 1)
    call say('BYTES_WRITTEN', 200 + 240 + 100)
    call say('BYTES_READ', 100 + 400 + 40)
    call say('SIZE_WRITE_AGG_0_100', 1)
    call say('SIZE_WRITE_AGG_100_1K', 2)
    call say('SIZE_READ_AGG_0_100', 2)
    call say('SIZE_READ_AGG_100_1K', 1)
    call event('w', rank * 1000, 200)
    call event('w', rank * 1000, 240)
    call event('w', -2, 100) ! any
    call event('r', -2, 100)
    call event('r', rank * 1000, 400)
    call event('r', rank * 1000 + 400, 40)
    close(unit)
  end do
  call MPI_Finalize(ierr)

contains

  subroutine say(counter, value)
    character(len=*), intent(in) :: counter
    integer, intent(in) :: value
    write(unit, '(a,i0,5a,i0)') 'TRUTH 0 ', rank, ' ', trim(dir) // '/' // trim(name), ' MPIIO_', counter, ' ', value
  end subroutine say

  subroutine event(kind, at, length)
    character(len=1), intent(in) :: kind
    integer, intent(in) :: at, length
    write(mode_text, '(i0,1x,i0)') at, length
    write(unit, '(a,i0,6a)') 'DXT 0 ', rank, ' ', trim(dir) // '/' // trim(name), ' ', kind, ' ', trim(mode_text)
  end subroutine event

end program truth
