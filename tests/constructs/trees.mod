!mod$ v1 sum:fbe20f62f40242f6
module trees
contains
recursive function fibonacci(n) result(value)
integer(4),intent(in)::n
integer(4)::value
end
end
