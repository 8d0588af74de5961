! An internal procedure that uses its host's variables is passed to a region, and by a region's threads: trampolines on their stacks call it.
module quadrature
  implicit none
  abstract interface
    real(8) function integrand(x)
      real(8), intent(in) :: x
    end function
  end interface
contains
  real(8) function integrate(f, a, b, n) result(s)
    procedure(integrand) :: f
    real(8), intent(in) :: a, b
    integer, intent(in) :: n
    integer :: i
    s = 0
    !$omp parallel do reduction(+:s)
    do i = 1, n
      s = s + f(a + (i - 0.5d0) * (b - a) / n)
    end do
    s = s * (b - a) / n
  end function
end module
program internal_procedure
  use quadrature
  implicit none
  real(8) :: coefficients(4), total
  integer :: k, calls
  calls = 0
  total = 0
  do k = 1, 2
    coefficients = [1d0, k * 0.5d0, -0.25d0, 0.125d0 / k]
    total = total + integrate(polynomial, 0d0, 1d0 + k, 1000)
  end do
  !$omp parallel do reduction(+:total)
  do k = 1, 100
    total = total + value_of(polynomial, k * 0.01d0)
  end do
  if (calls /= 2100 .or. abs(total - 152.98411458d0) > 1d-4) stop 1
  print '(a)', 'PASS'
contains
  real(8) function value_of(f, x)
    procedure(integrand) :: f
    real(8), intent(in) :: x
    value_of = f(x)
  end function
  real(8) function polynomial(x)
    real(8), intent(in) :: x
    polynomial = coefficients(1) + x * (coefficients(2) + x * (coefficients(3) + x * coefficients(4)))
    !$omp atomic
    calls = calls + 1
  end function
end program
