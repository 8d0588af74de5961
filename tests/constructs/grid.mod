!mod$ v1 sum:ff6478c3be6cf76b
module grid
integer(4),parameter::n=512_4
real(8)::field(1_8:512_8)
real(8),allocatable::work(:)
integer(4),private::sweeps
contains
subroutine sweep()
end
function sweeps_done()
integer(4)::sweeps_done
end
end
