!mod$ v1 sum:abe836fa452425f5
module counters
integer(4)::seen
!$omp threadprivate(seen)
end
