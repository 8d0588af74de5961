! Sections, single with copyprivate, critical, atomic, master, barrier, ordered.
program sections
  use omp_lib
  implicit none
  integer :: first, second, third, hits, singles, i, last, seed, wrong
  first = 0; second = 0; third = 0; hits = 0; singles = 0; last = 0; wrong = 0
  !$omp parallel sections
  !$omp section
  first = 1
  !$omp section
  second = 2
  !$omp section
  third = 3
  !$omp end parallel sections
  !$omp parallel private(seed)
  !$omp single
  singles = singles + 1
  seed = 42
  !$omp end single copyprivate(seed)
  if (seed /= 42) then
    !$omp atomic
    wrong = wrong + 1
  end if
  !$omp critical (counting)
  hits = hits + 1
  !$omp end critical (counting)
  !$omp barrier
  !$omp do ordered schedule(dynamic)
  do i = 1, 50
    !$omp ordered
    if (last /= i - 1) wrong = wrong + 1
    last = i
    !$omp end ordered
  end do
  !$omp end parallel
  if (first /= 1 .or. second /= 2 .or. third /= 3 .or. hits < 1 .or. singles /= 1 .or. last /= 50 .or. wrong /= 0) stop 1
  print '(a)', 'PASS'
end program
