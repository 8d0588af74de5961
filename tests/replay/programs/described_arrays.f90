! described_arrays.f90 - arrays with a part for each thread that Fortran's runtime allocates, assigns and moves; and such that have none.
module settings
  use omp_lib
  implicit none
  integer, parameter :: n = 4000, room = 64
  integer :: threads = 1
  real(8), pointer :: kept(:)
  real(8), allocatable :: moved(:)
  type :: part_t
    real(8), allocatable :: own(:)
  end type
  type :: linked_t
    real(8), pointer :: own(:) => null()
  end type
  type :: whole_t
    integer :: steps = 0
    real(8), pointer :: sums(:) => null()
  end type
  type(whole_t) :: whole
contains
  subroutine check(name, sum_of_parts)
    character(*), intent(in) :: name
    real(8), intent(in) :: sum_of_parts
    if (sum_of_parts /= n * (n + 1d0) / 2) then
      print '(2a)', 'FAIL ', name
      stop 1
    end if
  end subroutine
end module
module parts
  use settings
  implicit none
contains
  subroutine local_pointer()
    real(8), pointer :: sums(:)
    integer :: i
    allocate(sums(0:omp_get_max_threads() - 1))
    sums = 0
    !$omp parallel do
    do i = 1, n
      sums(omp_get_thread_num()) = sums(omp_get_thread_num()) + i
    end do
    call check('local_pointer', sum(sums))
    deallocate(sums)
  end subroutine
  subroutine module_pointer()
    integer :: i
    allocate(kept(threads))
    kept = 0
    !$omp parallel do
    do i = 1, n
      kept(omp_get_thread_num() + 1) = kept(omp_get_thread_num() + 1) + i
    end do
    call check('module_pointer', sum(kept))
    deallocate(kept)
  end subroutine
  subroutine pointer_component()
    integer :: i
    allocate(whole%sums(threads))
    whole%sums = 0
    !$omp parallel do
    do i = 1, n
      whole%sums(omp_get_thread_num() + 1) = whole%sums(omp_get_thread_num() + 1) + i
    end do
    call check('pointer_component', sum(whole%sums))
    deallocate(whole%sums)
  end subroutine
  subroutine assigned()
    real(8), allocatable :: sums(:)
    integer :: i
    sums = [(0d0, i = 1, threads)]
    !$omp parallel do
    do i = 1, n
      sums(omp_get_thread_num() + 1) = sums(omp_get_thread_num() + 1) + i
    end do
    call check('assigned', sum(sums))
  end subroutine
  subroutine moved_there()
    real(8), allocatable :: sums(:)
    integer :: i
    allocate(sums(threads))
    sums = 0
    call move_alloc(sums, moved)
    !$omp parallel do
    do i = 1, n
      moved(omp_get_thread_num() + 1) = moved(omp_get_thread_num() + 1) + i
    end do
    call check('moved_there', sum(moved))
    deallocate(moved)
  end subroutine
  subroutine from_environment()
    real(8), allocatable :: sums(:)
    character(16) :: text
    integer :: i, wanted, status
    call get_environment_variable('OMP_NUM_THREADS', text, status=status)
    wanted = room
    if (status == 0) read (text, *) wanted
    allocate(sums(wanted))
    sums = 0
    !$omp parallel do
    do i = 1, n
      sums(omp_get_thread_num() + 1) = sums(omp_get_thread_num() + 1) + i
    end do
    call check('from_environment', sum(sums))
  end subroutine
  subroutine of_components()
    type(part_t), allocatable :: all(:)
    integer :: i, t
    real(8) :: total
    allocate(all(0:threads - 1))
    do t = 0, threads - 1
      allocate(all(t)%own(16))
      all(t)%own = 0
    end do
    !$omp parallel do private(t)
    do i = 1, n
      t = omp_get_thread_num()
      all(t)%own(mod(i, 16) + 1) = all(t)%own(mod(i, 16) + 1) + i
    end do
    total = 0
    do t = 0, threads - 1
      total = total + sum(all(t)%own)
    end do
    call check('of_components', total)
  end subroutine
  subroutine of_pointers()
    type(linked_t) :: all(0:room - 1)
    integer :: i, t
    real(8) :: total
    do t = 0, threads - 1
      allocate(all(t)%own(16))
      all(t)%own = 0
    end do
    !$omp parallel do private(t)
    do i = 1, n
      t = omp_get_thread_num()
      all(t)%own(mod(i, 16) + 1) = all(t)%own(mod(i, 16) + 1) + i
    end do
    total = 0
    do t = 0, threads - 1
      total = total + sum(all(t)%own)
    end do
    call check('of_pointers', total)
  end subroutine
end module
module without
  use settings
  implicit none
contains
  subroutine fixed_section()
    real(8) :: sums(room)
    real(8), allocatable :: zeros(:)
    integer :: i
    zeros = [(0d0, i = 1, threads)]
    sums = 0
    sums(1:threads) = zeros
    !$omp parallel do
    do i = 1, n
      sums(omp_get_thread_num() + 1) = sums(omp_get_thread_num() + 1) + i
    end do
    call check('fixed_section', sum(sums))
  end subroutine
  subroutine column()
    real(8), allocatable :: table(:, :), sums(:)
    integer :: i
    allocate(table(room, threads))
    table = 0
    sums = table(:, threads)
    !$omp parallel do
    do i = 1, n
      sums(omp_get_thread_num() + 1) = sums(omp_get_thread_num() + 1) + i
    end do
    call check('column', sum(sums))
  end subroutine
  subroutine fixed_pointer()
    real(8), pointer :: sums(:)
    integer :: i
    allocate(sums(room))
    sums = 0
    !$omp parallel do
    do i = 1, n
      sums(omp_get_thread_num() + 1) = sums(omp_get_thread_num() + 1) + i
    end do
    call check('fixed_pointer', sum(sums))
    deallocate(sums)
  end subroutine
  subroutine another_number()
    real(8), allocatable :: sums(:)
    character(16) :: text
    integer :: i, wanted, status
    call get_environment_variable('PCERE_TEST_ROOM', text, status=status)
    wanted = room
    if (status == 0) read (text, *) wanted
    allocate(sums(wanted))
    sums = 0
    !$omp parallel do
    do i = 1, n
      sums(omp_get_thread_num() + 1) = sums(omp_get_thread_num() + 1) + i
    end do
    call check('another_number', sum(sums))
  end subroutine
end module
program described_arrays
  use parts
  use without
  implicit none
  threads = omp_get_max_threads()
  call local_pointer()
  call module_pointer()
  call pointer_component()
  call assigned()
  call moved_there()
  call from_environment()
  call of_components()
  call of_pointers()
  call fixed_section()
  call column()
  call fixed_pointer()
  call another_number()
  print '(a)', 'PASS'
end program described_arrays
