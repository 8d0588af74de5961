! Reductions over complex and real numbers of kind 10, whose sizes flang's debug information tells without padding.
program extended_complex
  implicit none
  integer, parameter :: n = 4000
  complex(10) :: total
  real(10) :: sum
  real(8) :: values(n)
  integer :: i, step
  do i = 1, n
    values(i) = sin(1d0 * i)**3
  end do
  do step = 1, 2
    total = 0
    sum = 0
    !$omp parallel do reduction(+: total, sum)
    do i = 1, n
      total = total + cmplx(values(i) / 3, 1.0_10 / i, 10)
      sum = sum + values(i) / 7.0_10
    end do
  end do
  if (abs(real(total) * 3 - sum * 7) > 1e-12_10 .or. aimag(total) < 8 .or. aimag(total) > 9) stop 1
  print '(a)', 'PASS'
end program
