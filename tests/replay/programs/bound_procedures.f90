! bound_procedures.f90 - regions in procedures that are bound to types, and called through a pointer.
module solvers
  use omp_lib
  implicit none
  integer, parameter :: n = 20000
  real(8) :: field(n) = 0
  type :: settings_t
    integer :: threads = 1
  end type
  type, abstract :: solver_t
    type(settings_t), pointer :: settings => null()
  contains
    procedure(step_i), deferred :: step
  end type
  abstract interface
    subroutine step_i(self, k)
      import solver_t
      class(solver_t), intent(inout) :: self
      integer, intent(in) :: k
    end subroutine
    subroutine action_i(s, k)
      import settings_t
      type(settings_t), intent(in) :: s
      integer, intent(in) :: k
    end subroutine
  end interface
  type, extends(solver_t) :: divided_t
  contains
    procedure :: step => divided_step
  end type
  type, extends(solver_t) :: plain_t
  contains
    procedure :: step => plain_step
  end type
  type :: holder_t
    class(solver_t), allocatable :: s
  end type
contains
  subroutine divided_step(self, k)
    class(divided_t), intent(inout) :: self
    integer, intent(in) :: k
    integer :: threads, me, each, i
    threads = self%settings%threads
    !$omp parallel private(me, each, i)
    me = omp_get_thread_num()
    each = (n + threads - 1) / threads
    do i = me * each + 1, min(n, (me + 1) * each)
      field(i) = field(i) + k
    end do
    !$omp end parallel
  end subroutine
  subroutine plain_step(self, k)
    class(plain_t), intent(inout) :: self
    integer, intent(in) :: k
    integer :: i
    !$omp parallel do
    do i = 1, n
      field(i) = field(i) + k * self%settings%threads / max(1, self%settings%threads)
    end do
  end subroutine
  subroutine by_pointer(s, k)
    type(settings_t), intent(in) :: s
    integer, intent(in) :: k
    integer :: threads, me, each, i
    threads = s%threads
    !$omp parallel private(me, each, i)
    me = omp_get_thread_num()
    each = (n + threads - 1) / threads
    do i = me * each + 1, min(n, (me + 1) * each)
      field(i) = field(i) + k
    end do
    !$omp end parallel
  end subroutine
end module
program bound_procedures
  use solvers
  implicit none
  type(settings_t), target :: settings
  type(holder_t) :: all(2)
  procedure(action_i), pointer :: act
  integer :: i, k
  settings%threads = omp_get_max_threads()
  allocate(divided_t :: all(1)%s)
  allocate(plain_t :: all(2)%s)
  act => by_pointer
  do i = 1, 2
    all(i)%s%settings => settings
  end do
  do k = 1, 3
    do i = 1, 2
      call all(i)%s%step(k)
    end do
    call act(settings, k)
  end do
  if (field(1) == 18 .and. field(n) == 18) print '(a)', 'PASS'
end program bound_procedures
