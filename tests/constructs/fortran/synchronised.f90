! What orders and guards: ordered, atomic with capture, critical, locks, barrier, single with copyprivate, masked, flush, nowait; lastprivate.
program synchronised
  use omp_lib
  implicit none
  integer, parameter :: n = 400
  integer :: sequence(n), at, tickets(n), next, mine, i, step, last, told, by_primary, guarded, locked, spread(3 * n)
  integer(omp_lock_kind) :: lock
  call omp_init_lock(lock)
  tickets = 0; by_primary = 0; guarded = 0; locked = 0; spread = 0
  do step = 1, 2
    at = 0
    next = 0
    !$omp parallel private(told, mine)
    !$omp do ordered schedule(dynamic, 3) lastprivate(last)
    do i = 1, n
      !$omp ordered
      at = at + 1
      sequence(at) = i
      !$omp end ordered
      last = 2 * i
    end do
    !$omp single
    told = 41 + step
    !$omp end single copyprivate(told)
    if (told /= 41 + step) stop 1
    !$omp do schedule(guided)
    do i = 1, n
      !$omp atomic capture
      next = next + 1
      mine = next
      !$omp end atomic
      tickets(mine) = tickets(mine) + 1
      !$omp critical (guard)
      guarded = guarded + 1
      !$omp end critical (guard)
    end do
    !$omp end do nowait
    call omp_set_lock(lock)
    locked = locked + 1
    !$omp flush
    call omp_unset_lock(lock)
    !$omp barrier
    !$omp masked
    by_primary = by_primary + locked / locked
    !$omp end masked
    !$omp end parallel
    if (last /= 2 * n) stop 2
  end do
  !$omp parallel do schedule(static, 7)
  do i = 1, n
    spread(3 * i - 2) = i
  end do
  call omp_destroy_lock(lock)
  if (any(sequence /= [(i, i = 1, n)]) .or. any(tickets /= 2) .or. guarded /= 2 * n .or. by_primary /= 2 .or. sum(spread) /= n * (n + 1) / 2) stop 3
  print '(a)', 'PASS'
end program
