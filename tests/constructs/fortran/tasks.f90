! Tasks: a recursion, dependences, a task loop, task groups.
module trees
  implicit none
contains
  recursive integer function fibonacci(n) result(value)
    integer, intent(in) :: n
    integer :: left, right
    if (n < 2) then
      value = n
      return
    end if
    !$omp task shared(left) firstprivate(n) if(n > 8)
    left = fibonacci(n - 1)
    !$omp end task
    !$omp task shared(right) firstprivate(n) if(n > 8)
    right = fibonacci(n - 2)
    !$omp end task
    !$omp taskwait
    value = left + right
  end function
end module

program tasks
  use trees
  implicit none
  integer :: answer, chain, i, squares(100)
  chain = 0
  !$omp parallel
  !$omp single
  answer = fibonacci(14)
  do i = 1, 10
    !$omp task depend(inout: chain) shared(chain) firstprivate(i)
    chain = chain * 2 + mod(i, 2)
    !$omp end task
  end do
  !$omp taskgroup
  do i = 1, 100
    !$omp task shared(squares) firstprivate(i)
    squares(i) = i * i
    !$omp end task
  end do
  !$omp end taskgroup
  !$omp end single
  !$omp end parallel
  if (answer /= 377 .or. chain /= 682 .or. sum(squares) /= 338350) stop 1
  print '(a)', 'PASS'
end program
