! workshare and array expressions, an allocation inside a region, firstprivate and lastprivate arrays, num_threads, if.
program array_syntax
  implicit none
  integer, parameter :: n = 1000
  real(8) :: a(n), b(n), c(4), picked
  real(8), allocatable :: own(:)
  integer :: i
  c = [1d0, 2d0, 3d0, 4d0]
  !$omp parallel workshare
  a = 1.5d0
  b = 2 * a + 1
  !$omp end parallel workshare
  !$omp parallel do firstprivate(c) lastprivate(picked) private(own)
  do i = 1, n
    allocate(own(4))
    own = c * i
    picked = sum(own)
    a(i) = picked + b(i)
    deallocate(own)
  end do
  !$omp parallel do if(n > 100000)
  do i = 1, n
    b(i) = a(i) - b(i)
  end do
  if (abs(picked - 10 * n) > 1d-9 .or. abs(sum(b) - 10d0 * n * (n + 1) / 2) > 1d-6) stop 1
  print '(a)', 'PASS'
end program
