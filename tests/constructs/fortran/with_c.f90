! A Fortran program with regions of its own, and a C function with a region on Fortran's memory.
program with_c
  use iso_c_binding
  implicit none
  interface
    function scale_all(values, count, factor) bind(c, name='scale_all') result(total)
      import
      integer(c_int), value :: count
      real(c_double), intent(inout) :: values(count)
      real(c_double), value :: factor
      real(c_double) :: total
    end function
  end interface
  integer, parameter :: n = 2000
  real(c_double) :: values(n), total
  integer :: i
  !$omp parallel do
  do i = 1, n
    values(i) = i
  end do
  total = scale_all(values, n, 3d0)
  if (abs(total - 1.5d0 * n * (n + 1)) > 1d-6 .or. abs(values(n) - 3 * n) > 1d-9) stop 1
  print '(a)', 'PASS'
end program
