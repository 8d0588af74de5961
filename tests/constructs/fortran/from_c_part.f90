! The Fortran part of from_c.c: an external subroutine with an automatic array.
subroutine smooth(values, n)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: values(n)
  real(8) :: old(n)
  integer :: i
  old = values
  !$omp parallel do
  do i = 2, n - 1
    values(i) = (old(i - 1) + old(i) + old(i + 1)) / 3 + 1
  end do
end subroutine
