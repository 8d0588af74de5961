! Reductions of a parallel loop over allocatable arrays.
program reductions
  implicit none
  integer, parameter :: n = 10000
  integer, allocatable :: a(:)
  real(8), allocatable :: x(:)
  integer :: i, total, least, most
  real(8) :: product, first, histogram(4)
  logical :: all_positive
  allocate(a(n), x(n))
  total = 0; least = huge(least); most = 0; product = 1; all_positive = .true.; histogram = 0
  !$omp parallel do schedule(static)
  do i = 1, n
    a(i) = mod(i * 7, 1000) + 1
    x(i) = 1 + 1d-9 * i
  end do
  first = x(1)
  !$omp parallel do reduction(+:total,histogram) reduction(min:least) reduction(max:most) reduction(*:product) reduction(.and.:all_positive)
  do i = 1, n
    total = total + a(i)
    least = min(least, a(i))
    most = max(most, a(i))
    product = product * x(i)
    histogram(mod(a(i), 4) + 1) = histogram(mod(a(i), 4) + 1) + 1
    all_positive = all_positive .and. a(i) > 0
  end do
  if (total /= sum(a) .or. least /= 1 .or. most /= 1000 .or. .not. all_positive) stop 1
  if (abs(product - exp(1d-9 * n * (n + 1d0) / 2)) > 1d-4 .or. abs(first - 1 - 1d-9) > 1d-15) stop 2
  if (sum(histogram) /= n .or. histogram(1) /= count(mod(a, 4) == 0)) stop 3
  print '(a)', 'PASS'
end program
