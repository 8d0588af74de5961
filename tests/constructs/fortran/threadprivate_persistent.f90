! threadprivate_persistent: what each thread left in its copies in one region, it finds in the next: a module's variables (a scalar, an array, an allocatable
! one) and a common block, first used by different regions; threads that come later start from the initial value.
module state
  implicit none
  integer :: seed = 17
  real(8) :: history(40) = 0
  real(8), allocatable :: own(:)
  !$omp threadprivate(seed, history, own)
end module

program threadprivate_persistent
  use state
  use omp_lib
  implicit none
  integer :: step, me, i, wrong, expected, count
  real(8) :: total
  common /tally/ count, total
  !$omp threadprivate(/tally/)
  wrong = 0
  !$omp parallel
  count = 0
  total = 0
  !$omp end parallel
  do step = 1, 4
    !$omp parallel private(me, i, expected) reduction(+:wrong)
    me = omp_get_thread_num()
    if (step == 1) allocate(own(10 + me))
    if (step == 1) own = me
    expected = 17
    do i = 1, step - 1
      expected = mod(expected * (31 + me), 1009)
    end do
    if (seed /= expected) wrong = wrong + 1
    seed = mod(seed * (31 + me), 1009)
    history(step) = seed
    if (step > 1) then
      if (history(step - 1) /= expected) wrong = wrong + 1
    end if
    own = own + 1
    if (size(own) /= 10 + me .or. any(own /= me + step)) wrong = wrong + 1
    count = count + me + 1
    total = total + 0.5d0 * me
    if (count /= step * (me + 1) .or. total /= 0.5d0 * me * step) wrong = wrong + 1
    !$omp end parallel
  end do
  if (wrong /= 0) stop 1
  print '(a)', 'PASS'
end program
