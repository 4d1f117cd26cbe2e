"""What happens when a task is announced: it is checked, and the file that announces it is noted."""
