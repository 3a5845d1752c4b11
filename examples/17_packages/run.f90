! Runs the package of lesson 17 from Fortran: x is 0, 1/8, 2/8, ... in 4 rows of 8. Tensors are
! row-major, so the first index of an array here is the last axis of the tensor.
!
!   gfortran run.f90 -ltilewright_c && ./a.out FILE
module tilewright
  use iso_c_binding
  implicit none

  ! include/tilewright/c_api.h has the meaning of each.
  type, bind(c) :: tensor
    type(c_ptr) :: dtype
    integer(c_int32_t) :: rank
    type(c_ptr) :: shape, data
  end type
  type, bind(c) :: tensor_info
    type(c_ptr) :: name, dtype
    integer(c_int32_t) :: rank
    type(c_ptr) :: shape
    integer(c_int64_t) :: bytes
    integer(c_int32_t) :: is_written
  end type

  interface
    function tilewright_load(file) bind(c)
      import :: c_ptr, c_char
      character(kind=c_char), intent(in) :: file(*)
      type(c_ptr) :: tilewright_load
    end function
    subroutine tilewright_free(package) bind(c)
      import :: c_ptr
      type(c_ptr), value :: package
    end subroutine
    function tilewright_input(package, signature, number, info) bind(c)
      import :: c_ptr, c_size_t, c_int, tensor_info
      type(c_ptr), value :: package
      integer(c_size_t), value :: signature, number
      type(tensor_info), intent(out) :: info
      integer(c_int) :: tilewright_input
    end function
    function tilewright_output(package, signature, number, info) bind(c)
      import :: c_ptr, c_size_t, c_int, tensor_info
      type(c_ptr), value :: package
      integer(c_size_t), value :: signature, number
      type(tensor_info), intent(out) :: info
      integer(c_int) :: tilewright_output
    end function
    function tilewright_run(package, inputs, input_count, outputs, output_count) bind(c)
      import :: c_ptr, c_size_t, c_int, tensor
      type(c_ptr), value :: package
      type(tensor), intent(in) :: inputs(*), outputs(*)
      integer(c_size_t), value :: input_count, output_count
      integer(c_int) :: tilewright_run
    end function
    function tilewright_last_error() bind(c)
      import :: c_ptr
      type(c_ptr) :: tilewright_last_error
    end function
    function c_length(text) bind(c, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: c_length
    end function
  end interface

contains

  function text_of(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(pointer, letters, [c_length(pointer)])
    allocate(character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  subroutine check(is_done)
    use iso_fortran_env, only: error_unit
    logical, intent(in) :: is_done
    if (is_done) return
    write (error_unit, '(a)') text_of(tilewright_last_error())
    stop 1
  end subroutine
end module

program run
  use tilewright
  implicit none
  integer(c_size_t), parameter :: rows_of_4 = 1 ! the second function of the package takes 4 rows
  real(c_float), target :: x(8, 4), y(3, 4)
  type(tensor_info) :: taken, given
  type(tensor) :: inputs(1), outputs(1)
  type(c_ptr) :: package
  character(4096) :: file
  integer :: i

  call get_command_argument(1, file)
  package = tilewright_load(trim(file) // c_null_char)
  call check(c_associated(package))
  call check(tilewright_input(package, rows_of_4, 0_c_size_t, taken) == 0)
  call check(tilewright_output(package, rows_of_4, 0_c_size_t, given) == 0)
  print '(a, i0, a, i0, a)', 'takes ' // text_of(taken%name) // ' of ', taken%bytes, &
    ' bytes, gives ' // text_of(given%name) // ' of ', given%bytes, ' bytes'
  if (taken%bytes /= size(x) * 4 .or. given%bytes /= size(y) * 4) stop 'the package is of other sizes'

  x = reshape([(real(i, c_float) / 8, i = 0, size(x) - 1)], shape(x))
  inputs(1) = tensor(taken%dtype, taken%rank, taken%shape, c_loc(x))
  outputs(1) = tensor(given%dtype, given%rank, given%shape, c_loc(y))
  call check(tilewright_run(package, inputs, 1_c_size_t, outputs, 1_c_size_t) == 0)
  print '(f6.4, 1x, f6.4, 1x, f6.4)', y
  call tilewright_free(package)
end program
