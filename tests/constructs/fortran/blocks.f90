! Variables of a block inside a region, associate, a reduction that the program declares for a type of its own, and reductions of whole arrays.
module ranges
  implicit none
  type :: range
    real(8) :: low = huge(1d0), high = -huge(1d0)
    integer :: count = 0
  end type
contains
  pure function joined(a, b) result(c)
    type(range), intent(in) :: a, b
    type(range) :: c
    c = range(min(a%low, b%low), max(a%high, b%high), a%count + b%count)
  end function
end module

program blocks
  use ranges
  implicit none
  integer, parameter :: n = 1200
  real(8) :: values(n), sums(4)
  type(range) :: found
  integer :: i, step
  !$omp declare reduction(join : range : omp_out = joined(omp_out, omp_in)) initializer(omp_priv = range())
  do step = 1, 2
    sums = 0
    found = range()
    !$omp parallel do reduction(+:sums)
    do i = 1, n
      block
        real(8) :: scratch(4)
        scratch = [1d0, 2d0, 3d0, 4d0] * i
        associate (v => values(i))
          v = sum(scratch) * step
        end associate
        sums = sums + scratch
      end block
    end do
    !$omp parallel do reduction(join : found)
    do i = 1, n
      found = joined(found, range(values(i), values(i), 1))
    end do
    if (found%low /= 10d0 * step .or. found%high /= 10d0 * n * step .or. found%count /= n) stop 1
    if (any(sums /= [1d0, 2d0, 3d0, 4d0] * (n * (n + 1d0) / 2))) stop 2
  end do
  print '(a)', 'PASS'
end program
