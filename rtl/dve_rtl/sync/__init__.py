"""Semaphores and events: what orders this engine and the others."""
