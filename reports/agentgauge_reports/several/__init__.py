"""What several runs come to together: one table, one leaderboard, one comparison."""
