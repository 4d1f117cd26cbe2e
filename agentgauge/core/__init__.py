"""What every part of a run shares: types, errors, the task and its parts."""
