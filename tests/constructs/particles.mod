!mod$ v1 sum:528ead9849320d97
module particles
type::particle
real(8)::position(1_8:3_8)=[REAL(8)::0._8,0._8,0._8]
real(8)::mass=1._8
integer(4),allocatable::neighbours(:)
contains
procedure::move
procedure::weight
end type
type,extends(particle)::heavy
real(8)::factor=1.e1_8
contains
procedure::weight=>heavy_weight
end type
contains
subroutine move(self,step)
class(particle),intent(inout)::self
real(8),intent(in)::step
end
pure function direction(self) result(vector)
class(particle),intent(in)::self
real(8)::vector(1_8:3_8)
end
function weight(self)
class(particle),intent(in)::self
real(8)::weight
end
function heavy_weight(self)
class(heavy),intent(in)::self
real(8)::heavy_weight
end
end
