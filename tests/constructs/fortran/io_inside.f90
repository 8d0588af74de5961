! A region that writes to standard output and to a character variable.
program io_inside
  use omp_lib
  implicit none
  character(len=12) :: labels(20)
  integer :: i, lines
  lines = 0
  !$omp parallel do
  do i = 1, 20
    write (labels(i), '(a,i4.4)') 'row ', i
  end do
  !$omp parallel
  !$omp single
  print '(a)', 'inside a region'
  lines = lines + 1
  !$omp end single
  !$omp end parallel
  if (lines /= 1 .or. labels(7) /= 'row 0007') stop 1
  print '(a)', 'PASS'
end program
