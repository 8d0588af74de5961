! Module variables, common blocks and saved locals, used in regions of procedures.
module grid
  implicit none
  integer, parameter :: n = 512
  real(8) :: field(n) = 0
  real(8), allocatable :: work(:)
  integer, private :: sweeps = 0
contains
  subroutine sweep()
    integer, save :: calls = 0
    integer :: i
    real(8) :: scale
    common /tuning/ scale
    calls = calls + 1
    !$omp parallel do
    do i = 1, n
      work(i) = field(i) * scale + calls
    end do
    !$omp parallel do
    do i = 1, n
      field(i) = work(i)
    end do
    sweeps = sweeps + 1
  end subroutine
  integer function sweeps_done()
    sweeps_done = sweeps
  end function
end module

program shared_data
  use grid
  implicit none
  real(8) :: scale, expected
  integer :: k
  common /tuning/ scale
  scale = 0.5d0
  allocate(work(n))
  expected = 0
  do k = 1, 5
    call sweep()
    expected = expected * scale + k
  end do
  if (any(abs(field - expected) > 1d-12) .or. sweeps_done() /= 5) stop 1
  print '(a)', 'PASS'
end program
