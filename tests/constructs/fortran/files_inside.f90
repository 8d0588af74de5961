! Units: one is opened, read and closed inside a region, one was opened before it and is read on.
program files_inside
  use omp_lib
  implicit none
  character(len=40) :: lines(8), line
  integer :: i, unit, status, count
  !$omp parallel do private(unit, status)
  do i = 1, 8
    !$omp critical      ! two units may not have one file
    open (newunit=unit, file=__FILE__, action='read', status='old', iostat=status)
    if (status /= 0) stop 1
    read (unit, '(a)') lines(i)
    close (unit)
    !$omp end critical
  end do
  if (any(lines(:)(1:7) /= '! Units')) stop 2
  open (newunit=unit, file=__FILE__, action='read', status='old')
  read (unit, '(a)') line
  count = 0
  do i = 1, 2
    !$omp parallel
    !$omp single
    read (unit, '(a)', iostat=status) line
    if (status == 0) count = count + 1
    !$omp end single
    !$omp end parallel
  end do
  close (unit)
  if (count /= 2 .or. line /= '  use omp_lib') stop 3
  print '(a)', 'PASS'
end program
