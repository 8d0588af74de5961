! fortran/blocks_kept.f90 - what a region allocates, and leaves in variables and in components.
program blocks_kept
  implicit none
  type cell
    real(8), allocatable :: values(:)
    integer :: number
  end type
  type link
    type(link), pointer :: next => null()
    integer :: number = 0
  end type
  type(cell) :: cells(20)
  type(link), pointer :: chain, added
  real(8), allocatable :: grid(:, :)
  integer :: i, step
  nullify (chain)
  do step = 1, 2
    if (allocated(grid)) deallocate (grid)
    !$omp parallel
    !$omp single
    allocate (grid(30, 40))
    grid = step
    do i = 1, 10
      allocate (added)
      added%number = i * step
      added%next => chain
      chain => added
    end do
    !$omp end single
    !$omp do
    do i = 1, 20
      if (allocated(cells(i)%values)) deallocate (cells(i)%values)
      allocate (cells(i)%values(i + 5))
      cells(i)%values = i * 0.5d0
      cells(i)%number = i
    end do
    !$omp end do
    !$omp end parallel
  end do
  if (sum(grid) /= 2400 .or. cells(7)%values(3) /= 3.5d0 .or. chain%next%number /= 18) error stop 1
end program
