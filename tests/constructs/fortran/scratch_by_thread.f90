! Scratch memory with one part for each thread, allocated before the region: holds only for the capture's number of threads (P17).
program scratch_by_thread
  use omp_lib
  implicit none
  integer, parameter :: n = 1000
  real(8), allocatable :: scratch(:,:)
  integer :: i, me
  allocate(scratch(8, omp_get_max_threads()))
  scratch = 0
  !$omp parallel private(me)
  me = omp_get_thread_num() + 1
  !$omp do
  do i = 1, n
    scratch(1, me) = scratch(1, me) + i
  end do
  !$omp end parallel
  if (abs(sum(scratch) - n * (n + 1d0) / 2) > 1d-9) stop 1
  print '(a)', 'PASS'
end program
