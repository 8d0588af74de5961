! Objects with allocatable components, pointers and type-bound procedures, used by calls of calls inside a region.
module particles
  implicit none
  type :: particle
    real(8) :: position(3) = 0, mass = 1
    integer, allocatable :: neighbours(:)
  contains
    procedure :: move
    procedure :: weight
  end type
  type, extends(particle) :: heavy
    real(8) :: factor = 10
  contains
    procedure :: weight => heavy_weight
  end type
contains
  subroutine move(self, step)
    class(particle), intent(inout) :: self
    real(8), intent(in) :: step
    self%position = self%position + direction(self) * step
  end subroutine
  pure function direction(self) result(vector)
    class(particle), intent(in) :: self
    real(8) :: vector(3)
    vector = [1d0, 0d0, self%mass]
  end function
  real(8) function weight(self)
    class(particle), intent(in) :: self
    weight = self%mass
  end function
  real(8) function heavy_weight(self)
    class(heavy), intent(in) :: self
    heavy_weight = self%mass * self%factor
  end function
end module

program derived_types
  use particles
  implicit none
  type(heavy), allocatable, target :: swarm(:)
  class(particle), pointer :: one
  integer :: i
  real(8) :: total
  allocate(swarm(200))
  do i = 1, size(swarm)
    allocate(swarm(i)%neighbours(mod(i, 5) + 1))
    swarm(i)%neighbours = i
  end do
  total = 0
  !$omp parallel do private(one) reduction(+:total)
  do i = 1, size(swarm)
    one => swarm(i)
    one%mass = sum(one%neighbours) / size(one%neighbours)
    call one%move(0.5d0)
    total = total + one%weight()
  end do
  if (abs(total - 10 * 200 * 201 / 2) > 1d-9 .or. abs(swarm(8)%position(3) - 4) > 1d-12) stop 1
  print '(a)', 'PASS'
end program
