"""What happens to a record before it executes: legality."""
