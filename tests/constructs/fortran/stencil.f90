! A heat equation: five-point stencil with pointers that are swapped, assumed-shape dummies, an internal procedure and collapse.
program stencil
  implicit none
  integer, parameter :: n = 128, steps = 20
  real(8), pointer :: now(:,:), next(:,:), swap(:,:)
  real(8) :: before, after
  integer :: step
  allocate(now(0:n+1, 0:n+1), next(0:n+1, 0:n+1))
  now = 0; next = 0
  now(n/2-8:n/2+8, n/2-8:n/2+8) = 1
  before = sum(now)
  do step = 1, steps
    call relax(now, next)
    swap => now; now => next; next => swap
  end do
  after = total(now)
  if (abs(before - after) > 1d-9 * before .or. maxval(now) >= 1d0 .or. minval(now) < 0) stop 1
  print '(a)', 'PASS'
contains
  subroutine relax(from, to)
    real(8), intent(in) :: from(0:, 0:)
    real(8), intent(inout) :: to(0:, 0:)
    integer :: i, j
    !$omp parallel do collapse(2)
    do j = 1, n
      do i = 1, n
        to(i, j) = from(i, j) + 0.2d0 * (from(i-1, j) + from(i+1, j) + from(i, j-1) + from(i, j+1) - 4 * from(i, j))
      end do
    end do
  end subroutine
  real(8) function total(values)
    real(8), intent(in) :: values(0:, 0:)
    integer :: j
    total = 0
    !$omp parallel do reduction(+:total) schedule(guided)
    do j = 0, n + 1
      total = total + sum(values(:, j))
    end do
  end function
end program
