"""How formats, means and orders of addition change gradients, and training; `docs/studies`."""
