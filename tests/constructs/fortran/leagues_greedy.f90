! Loops over all teams of a league where KMP_SCHEDULE=static,greedy says that each but the last has as much as fits: parts of 3, 3, 3 and 1, and of 2, 2 and nothing.
program leagues_greedy
  use omp_lib
  implicit none
  integer :: team(10), few(4), back(10), i
  team = -1; few = -1; back = -1
  !$omp teams distribute parallel do num_teams(4) thread_limit(1)
  do i = 1, 10
    team(i) = omp_get_team_num()
  end do
  !$omp teams distribute parallel do num_teams(3) thread_limit(1)
  do i = 1, 4
    few(i) = omp_get_team_num()
  end do
  !$omp teams distribute parallel do num_teams(4) thread_limit(1)
  do i = 10, 1, -1
    back(i) = omp_get_team_num()
  end do
  if (any(team /= [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]) .or. any(few /= [0, 0, 1, 1]) .or. any(back /= [3, 2, 2, 2, 1, 1, 1, 0, 0, 0])) stop 1
  print '(a)', 'PASS'
end program
