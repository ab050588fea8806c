"""The one exception that leaves this library."""


class CosimError(Exception):
    """A build or a simulation failed; the message is one line that names the next step."""


class WaitError(CosimError):
    """The program ended in a wait that did not come true; nothing is wrong with the simulation."""
