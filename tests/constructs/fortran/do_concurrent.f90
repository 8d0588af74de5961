! do concurrent, which -fdo-concurrent-to-openmp=host makes a region of.
program do_concurrent_loop
  implicit none
  integer, parameter :: n = 5000
  real(8) :: a(n), b(n)
  integer :: i
  do i = 1, n
    b(i) = i
  end do
  do concurrent (i = 1:n)
    a(i) = 2 * b(i) + 1
  end do
  if (abs(sum(a) - (n * (n + 1d0) + n)) > 1d-6) stop 1
  print '(a)', 'PASS'
end program
