! Each region writes the thread's number where its iteration lies: as many places as there are kinds of arrays, and each has another way to be named.
module grid
  implicit none
  type :: cell
    integer :: owner = 0, level = 0
  end type
  type :: patch
    integer, allocatable :: flags(:, :)
    type(cell) :: cells(0:3)
  end type
  type(patch), save :: patches(2)
  integer, allocatable, save :: owners(:, :)
  integer, save :: fixed(-1:6, 3:4) = 0
  integer, pointer, save :: window(:, :) => null()
  integer :: common_a(8), common_b(8)
  common /shared/ common_a, common_b
contains
  subroutine mark(n, dummy, local_sum)
    use omp_lib
    integer, intent(in) :: n
    integer, intent(inout) :: dummy(:, 3:)
    integer, intent(out) :: local_sum
    integer, allocatable :: locals(:)
    integer :: i
    allocate(locals(5:n + 4), source=0)
    local_sum = 0
    !$omp parallel do schedule(static) reduction(+:local_sum)
    do i = 1, n
      owners(i, 7) = omp_get_thread_num()
      fixed(i - 2, 4) = omp_get_thread_num()
      patches(2)%flags(i, 0) = omp_get_thread_num()
      patches(1)%cells((i - 1) / 2)%owner = omp_get_thread_num()
      window(i, 2) = omp_get_thread_num()
      dummy(i, 4) = omp_get_thread_num()
      common_b(i) = omp_get_thread_num()
      locals(i + 4) = omp_get_thread_num()
      local_sum = local_sum + i
    end do
    if (sum(locals) < 0) stop 1
  end subroutine
end module

program names
  use grid
  implicit none
  integer, parameter :: n = 8
  integer, allocatable, target :: block(:, :)
  integer, allocatable :: passed(:, :)
  integer :: total, v
  allocate(owners(n, 6:7), block(2:n + 1, 3), passed(n, 2))
  owners = 0; block = 0; passed = 0; common_a = 0; common_b = 0
  do v = 1, 2
    allocate(patches(v)%flags(1:n, -1:1))
    patches(v)%flags = 0
  end do
  window(1:, 1:) => block(:, 2:3)
  call mark(n, passed, total)
  if (total /= n * (n + 1) / 2) stop 1
  print '(a)', 'PASS'
end program
