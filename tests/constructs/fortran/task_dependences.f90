! Tasks that depend on each other, taskgroup, taskloop, taskyield, priority, if and final, firstprivate arrays, a task's own allocation.
module trees
  implicit none
contains
  recursive function leaves(depth) result(count)
    integer, intent(in) :: depth
    integer :: count, left, right
    if (depth == 0) then
      count = 1
      return
    end if
    !$omp task shared(left) final(depth < 3) if(depth > 1)
    left = leaves(depth - 1)
    !$omp end task
    !$omp task shared(right)
    right = leaves(depth - 1)
    !$omp end task
    !$omp taskwait
    count = left + right
  end function
end module

program task_dependences
  use trees
  implicit none
  integer, parameter :: n = 24
  integer :: i, step, chain, values(n), found, filled(10 * n)
  real(8) :: sums(n), row(5)
  chain = 0; values = 0; sums = 0; filled = 0
  do step = 1, 2
    !$omp parallel private(i, row)
    !$omp single
    do i = 1, n
      !$omp task depend(out: values(i)) firstprivate(i)
      values(i) = values(i) + i
      !$omp end task
      !$omp task depend(in: values(i)) depend(inout: chain) firstprivate(i) priority(i)
      chain = mod(chain * 3 + values(i), 1009)
      !$omp end task
      row = i
      !$omp task firstprivate(row, i)
      sums(i) = sums(i) + sum(row)
      !$omp end task
    end do
    !$omp taskgroup
    !$omp task
    found = leaves(6)
    !$omp end task
    !$omp taskyield
    !$omp end taskgroup
    !$omp taskloop grainsize(20)
    do i = 1, 10 * n
      filled(i) = filled(i) + i
    end do
    !$omp end taskloop
    !$omp end single
    !$omp end parallel
    if (found /= 64) stop 1
  end do
  found = 0
  do step = 1, 2
    do i = 1, n
      found = mod(found * 3 + i * step, 1009)
    end do
  end do
  if (chain /= found .or. any(values /= [(2 * i, i = 1, n)]) .or. any(sums /= [(10d0 * i, i = 1, n)]) .or. any(filled /= [(2 * i, i = 1, 10 * n)])) stop 2
  print '(a)', 'PASS'
end program
