"""The exceptions that leave this library, one base for all."""


class CosimError(Exception):
    """A build or a simulation failed; the message is one line that names the next step."""


class WaitError(CosimError):
    """The program ended in a wait that did not come true; nothing is wrong with the simulation."""


class EngineError(CosimError):
    """The simulated engine did not keep its contract: an instruction hangs, an answer is wrong."""
