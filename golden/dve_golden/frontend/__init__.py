"""What happens to a record around its execution: waits, legality, updates."""
