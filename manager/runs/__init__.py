"""Runs: one task from queued to its end, the tasks that execute it, and the way of its result."""
