"""The architectural sum of a reduction (batchnorm.md sections 8, 10).

Eight partial sums, so that the bits do not depend on how deep an adder pipeline is: ordinal e
goes to partial e mod 8, in increasing order of e, and a fixed tree joins the partials.
"""

import numpy as np

from dve_golden.fp32.arithmetic import Floats

PARTIALS = 8


class Fold:
    """One running sum per channel.

    The order of additions is spelled out slab by slab: a slab holds eight consecutive ordinals of
    all channels, and no two of its elements meet the same partial sum. numpy's own reductions are
    not used because they choose their own order.

    Parameters
    ----------
    channels
        Number of independent sums.
    """

    def __init__(self, channels: int) -> None:
        self._partials = np.zeros((PARTIALS, channels), np.float32)
        self._phase = 0

    def add(self, values: Floats) -> None:
        """Add the next ordinals of every channel.

        Parameters
        ----------
        values
            [channels, ordinals], in order; any number of ordinals per call.
        """
        by_ordinal = np.ascontiguousarray(values.T)
        if self._phase:
            head, by_ordinal = np.split(by_ordinal, [PARTIALS - self._phase])
            self._add_slab(head)
        whole = len(by_ordinal) // PARTIALS * PARTIALS
        for slab in by_ordinal[:whole].reshape(-1, *self._partials.shape):
            np.add(self._partials, slab, out=self._partials)
        self._add_slab(by_ordinal[whole:])

    def total(self) -> Floats:
        """The sum of each channel, [channels]; all eight partials take part."""
        q = self._partials
        return ((q[0] + q[1]) + (q[2] + q[3])) + ((q[4] + q[5]) + (q[6] + q[7]))

    def even(self) -> Floats:
        """The sum of the even ordinals alone, [channels] (batchnorm.md section 10)."""
        return self._half(0)

    def odd(self) -> Floats:
        """The sum of the odd ordinals alone, [channels]."""
        return self._half(1)

    def _half(self, first: int) -> Floats:
        """The tree of `total`, of every other partial; there are as many, so parity is kept."""
        q = self._partials[first::2]
        return (q[0] + q[1]) + (q[2] + q[3])

    def _add_slab(self, slab: Floats) -> None:
        """Add up to eight ordinals, starting at the next partial and not wrapping."""
        self._partials[self._phase : self._phase + len(slab)] += slab
        self._phase = (self._phase + len(slab)) % PARTIALS
