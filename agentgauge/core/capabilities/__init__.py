"""What a task may have besides the required part of ``Task``: a base class each, which a task's class inherits."""
