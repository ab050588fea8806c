"""Studies behind decisions about the engine; each a package that writes the figures of a page."""
