! do concurrent over two indices, with a mask, local and reduced variables, beside a region of OpenMP: -fdo-concurrent-to-openmp=host makes regions of them.
program do_concurrent_local
  implicit none
  integer, parameter :: rows = 40, columns = 60
  real(8) :: grid(rows, columns), total, scratch
  integer :: i, j, step
  grid = 0
  do step = 1, 2
    do concurrent (j = 1:columns, i = 1:rows)
      grid(i, j) = grid(i, j) + i * 100 + j
    end do
    total = 0
    do concurrent (j = 1:columns) local(scratch) reduce(+:total)
      scratch = grid(1, j) + step
      total = total + scratch
    end do
    if (abs(total - (step * (100d0 * columns + columns * (columns + 1) / 2) + columns * step)) > 1d-6) stop 1
    !$omp parallel do
    do j = 1, columns
      grid(1, j) = grid(1, j) + 0 * step
    end do
  end do
  if (grid(rows, columns) /= 2d0 * (100 * rows + columns)) stop 2
  print '(a)', 'PASS'
end program
