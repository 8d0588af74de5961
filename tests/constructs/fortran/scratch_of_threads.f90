! Scratch memory that each thread allocates for itself in one region and uses in others: holds only for the capture's number of threads (P17).
module scratch_of_each
  implicit none
  real(8), allocatable, save :: scratch(:)
  !$omp threadprivate(scratch)
end module

program scratch_of_threads
  use scratch_of_each
  implicit none
  integer :: i, step
  real(8) :: total
  total = 0
  !$omp parallel
  allocate(scratch(100))
  scratch = 0
  !$omp end parallel
  do step = 1, 4
    !$omp parallel do reduction(+:total)
    do i = 1, 1000
      scratch(mod(i, 100) + 1) = i
      total = total + scratch(mod(i, 100) + 1)
    end do
  end do
  if (abs(total - 4 * 500500d0) > 1d-9) stop 1
  print '(a)', 'PASS'
end program
