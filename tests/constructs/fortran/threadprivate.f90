! threadprivate: a module variable with an initial value, a common block with copyin, values that persist from one region to the next.
module counters
  implicit none
  integer :: seen = 100
  !$omp threadprivate(seen)
end module

program threadprivate
  use counters
  use omp_lib
  implicit none
  integer :: base, total, i, offset, team
  common /start/ offset
  !$omp threadprivate(/start/)
  base = 0; total = 0
  offset = 7
  !$omp parallel copyin(offset) reduction(+:base)
  seen = seen + omp_get_thread_num()
  base = base + offset
  !$omp end parallel
  !$omp parallel do reduction(+:total)
  do i = 1, 1000
    total = total + offset
  end do
  team = 0
  !$omp parallel reduction(+:team)
  team = team + 1
  if (seen /= 100 + omp_get_thread_num()) team = -1000
  seen = seen + 1
  !$omp end parallel
  if (team < 1 .or. base /= 7 * team .or. total /= 7000 .or. seen /= 101) stop 1
  print '(a)', 'PASS'
end program
