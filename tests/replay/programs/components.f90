! Elements that lie farther apart than their last component ends, and strings: each iteration writes its thread's number.
module store
  implicit none
  type :: part
    real(8) :: weight = 0
    integer :: owner = 0
  end type
  type :: whole
    type(part) :: parts(2)
    integer(1) :: flag = 0
  end type
  type(part), save :: fixed(8)
  type(part), allocatable, save :: some(:)
  type(whole), save :: wholes(8)
  character(3), save :: letters(8) = 'a0c'
  character(:), allocatable, save :: text
end module

program components
  use store
  use omp_lib
  implicit none
  integer :: i
  allocate(some(8))
  text = repeat('0', 8)
  !$omp parallel do schedule(static)
  do i = 1, 8
    fixed(i)%owner = omp_get_thread_num()
    some(i)%owner = omp_get_thread_num()
    wholes(i)%parts(2)%owner = omp_get_thread_num()
    wholes(i)%flag = int(omp_get_thread_num(), 1)
    letters(i)(2:2) = char(48 + omp_get_thread_num())
    text(i:i) = char(48 + omp_get_thread_num())
  end do
  if (len(text) == 8) print '(a)', 'PASS'
end program
