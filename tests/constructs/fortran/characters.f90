! Character data: arrays of fixed and deferred length, internal writes, concatenation and comparison inside a region.
program characters
  implicit none
  character(len=16) :: names(64)
  character(len=:), allocatable :: prefix
  character(len=8) :: digits
  integer :: i, matches
  prefix = 'cell-'
  matches = 0
  !$omp parallel do private(digits) reduction(+:matches)
  do i = 1, 64
    digits = repeat(achar(iachar('a') + mod(i, 26)), 3)
    names(i) = prefix // trim(digits) // achar(iachar('0') + mod(i, 10))
    if (index(names(i), 'bbb') > 0) matches = matches + 1
    if (names(i)(1:5) /= prefix) matches = -1000
  end do
  if (matches /= 3 .or. names(1) /= 'cell-bbb1' .or. len_trim(names(64)) /= 9) stop 1
  print '(a)', 'PASS'
end program
