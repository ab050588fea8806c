"""Pipeline registers at chosen boundaries of a fixed-latency function."""

from amaranth.hdl import Module, Signal, Value, ValueLike

STEPS = 4
"""Steps of a converter, each short enough for a clock of its own."""

REGISTERED_AFTER: dict[int, frozenset[int]] = {
    1: frozenset({4}),
    2: frozenset({2, 4}),
    3: frozenset({1, 3, 4}),
    4: frozenset({1, 2, 3, 4}),
}
"""Latency to the steps (from 1) whose results are registered. The output always is."""


class Cuts:
    """Registers the results of a step, or passes them on, as the latency asks.

    The registers carry data only and are not reset.

    Parameters
    ----------
    m : Module
        Module the registers belong to.
    latency : int
        Clock cycles through all steps, 1 to ``STEPS``.
    """

    def __init__(self, m: Module, latency: int):
        self._m = m
        self._registered = REGISTERED_AFTER[latency]

    def after(self, step: int, **values: ValueLike) -> list[Signal]:
        """The named results of a step as the next one sees them, in the order given."""
        domain = self._m.d.sync if step in self._registered else self._m.d.comb
        passed = []
        for name, value in values.items():
            value = Value.cast(value)
            signal = Signal(value.shape(), name=f"{name}_{step}", reset_less=True)
            domain += signal.eq(value)
            passed.append(signal)
        return passed


def check_latency(latency: int) -> int:
    """Returns ``latency`` if a converter can have it.

    Raises
    ------
    TypeError
        If it is not an integer.
    ValueError
        If it is not from 1 to ``STEPS``.
    """
    if not isinstance(latency, int) or isinstance(latency, bool):
        raise TypeError(f"latency must be an integer, got {latency!r}")
    if latency not in REGISTERED_AFTER:
        raise ValueError(f"latency must be 1 to {STEPS}, got {latency}")
    return latency
