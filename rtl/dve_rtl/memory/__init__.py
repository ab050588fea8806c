"""Lane memories and what addresses them: walkers, RAM, load (read side), store (write side)."""
