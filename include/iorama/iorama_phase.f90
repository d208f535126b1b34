! SPDX-License-Identifier: BSD-3-Clause
! iorama_phase.f90: a Fortran program gives parts of its run a name, which reports then show in time:
!
!   use iorama
!   call iorama_begin("checkpoint")
!   ...
!   call iorama_end("checkpoint")
!
! Compile this file with your program; nothing has to be linked (before glibc 2.34: -ldl). In a program that is not
! observed both do nothing. See iorama/phase.h.
module iorama
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: iorama_begin, iorama_end

  abstract interface
    subroutine mark(name) bind(C)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine mark
  end interface

  interface
    function dlsym(handle, name) bind(C, name="dlsym")
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: dlsym
    end function dlsym
  end interface

contains

  subroutine call_if_there(function_name, name)
    character(len=*), intent(in) :: function_name, name
    procedure(mark), pointer :: f
    type(c_funptr) :: at

    at = dlsym(c_null_ptr, function_name // c_null_char)
    if (.not. c_associated(at)) return
    call c_f_procpointer(at, f)
    call f(trim(name) // c_null_char)
  end subroutine call_if_there

  subroutine iorama_begin(name)
    character(len=*), intent(in) :: name
    call call_if_there("iorama_phase_begin", name)
  end subroutine iorama_begin

  subroutine iorama_end(name)
    character(len=*), intent(in) :: name
    call call_if_there("iorama_phase_end", name)
  end subroutine iorama_end

end module iorama
