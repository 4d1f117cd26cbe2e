"""The joint results of several runs: one table, one leaderboard, one comparison."""
