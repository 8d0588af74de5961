! Teams on the host, distribute, simd, loop, parallel sections, nested regions, cancellation, firstprivate of an allocatable, if and num_threads.
program leagues
  use omp_lib
  implicit none
  integer, parameter :: n = 900
  real(8) :: a(n), b(n), total
  real(8), allocatable :: weights(:)
  integer :: i, j, step, first, second, grid(20, 30)
  a = 0; b = 0; grid = 0; first = 0; second = 0
  allocate(weights(3))
  weights = [1d0, 2d0, 3d0]
  call omp_set_max_active_levels(2)
  do step = 1, 2
    total = 0
    !$omp teams distribute parallel do num_teams(2) thread_limit(2)
    do i = 1, n
      a(i) = a(i) + i
    end do
    !$omp parallel do simd reduction(+:total) schedule(static, 16)
    do i = 1, n
      total = total + a(i)
    end do
    if (total /= step * n * (n + 1d0) / 2) stop 1
    !$omp parallel do firstprivate(weights) if(step > 0) num_threads(3)
    do i = 1, n
      weights(1) = i
      b(i) = b(i) + weights(1) + weights(3)
    end do
    !$omp parallel sections
    !$omp section
    first = first + 1
    !$omp section
    second = second + 1
    !$omp end parallel sections
    !$omp parallel num_threads(2) private(i, j)
    !$omp do collapse(2)
    do j = 1, 30
      do i = 1, 20
        grid(i, j) = grid(i, j) + i * j
      end do
    end do
    !$omp single
    !$omp parallel do num_threads(2)
    do j = 1, 30
      grid(1, j) = grid(1, j) + 1
    end do
    !$omp end single
    !$omp end parallel
  end do
  if (any(b /= [(2d0 * (i + 3), i = 1, n)]) .or. first /= 2 .or. second /= 2 .or. grid(20, 30) /= 1200 .or. grid(1, 5) /= 12) stop 2
  print '(a)', 'PASS'
end program
