"""Co-simulation of the engine: build, driver, scoreboard, program generator, report."""
