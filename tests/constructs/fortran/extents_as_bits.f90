! The optimiser makes a bit of an array's extent that is one of two numbers; with one call more or less it does not.
module m
  type, abstract :: shape
  contains
    procedure(area_i), deferred :: area
  end type
  abstract interface
    real(8) function area_i(this)
      import shape
      class(shape), intent(in) :: this
    end function
  end interface
  type, extends(shape) :: disc
    real(8) :: r = 1
  contains
    procedure :: area => disc_area
  end type
  type holder
    class(shape), allocatable :: s
  end type
contains
  real(8) function disc_area(this)
    class(disc), intent(in) :: this
    disc_area = 3 * this%r
  end function
  subroutine fill(h, n)
    type(holder), allocatable, intent(out) :: h(:)
    integer, intent(in) :: n
    integer :: i
    allocate(h(n))
    do i = 1, n
      allocate(disc :: h(i)%s)
    end do
  end subroutine
  function total(h) result(t)
    type(holder), intent(in) :: h(:)
    real(8) :: t
    integer :: i
    t = 0
    !$omp parallel do reduction(+:t)
    do i = 1, size(h)
      t = t + h(i)%s%area()
    end do
  end function
  subroutine double_it(a)
    real(8), intent(inout), contiguous :: a(:)
    integer :: i
    do i = 1, size(a)
      a(i) = 2 * a(i) + 1
    end do
  end subroutine
end module
program main
  use m
  type(holder), allocatable :: h(:)
  real(8), allocatable, target :: x(:)
  complex(8), allocatable :: z(:)
  integer :: i, n
  real(8) :: t
  n = 60000
  do i = 1, 3
    call fill(h, 3000 * i)
    t = total(h)
  end do
  allocate(x(n), z(n))
  do i = 1, n
    x(i) = mod(i * 0.618d0, 1d0)
  end do
  !$omp parallel
  !$omp single
  call double_it(x)
  !$omp end single
  !$omp end parallel
  !$omp parallel do
  do i = 1, n
    z(i) = x(i)
  end do
  deallocate(h)
  if (abs(real(sum(z)) - 119880d0) > 1d-3 .or. t /= 27000) stop 1
  print '(a)', 'PASS'
end program
