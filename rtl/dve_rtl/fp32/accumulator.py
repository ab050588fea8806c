"""One adder as an element unit or as the fold of batchnorm.md section 8."""

from itertools import pairwise

from amaranth import *
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from ..config import PARTIALS
from .adder import Adder


def min_period(adder_latency: int) -> int:
    """Fewest clocks from the first element of a pass to that of the next.

    With at least this period and the gap of eight clocks, no operand of a fold is overwritten
    before its addition starts, for passes of equal length at any, even irregular, periods. Below
    it short passes of deep adders lose operands; up to latency 4 the gap alone is enough (one
    element and eight clocks). Passes of different lengths must not overlap their folds.
    """
    return max(1 + PARTIALS, adder_latency + 5)


class Tag(enum.Enum, shape=3):
    """What an issued addition gives; travels beside it."""

    NONE = 0
    PARTIAL = 1
    PAIR_LOW = 2  # q0 + q1 or q2 + q3
    PAIR_HIGH = 3  # q4 + q5 or q6 + q7
    QUARTET = 4  # sum of four partials
    SUM = 5


class PairQueue(wiring.Component):
    """Holds the two operands of an addition until it can start.

    The second operand can be used in the clock in which it arrives.

    Members
    -------
    arrive : In(1)
        ``value`` is an operand; not while two are held.
    value : In(32)
    take : In(1)
        The addition starts; only while ``complete``.
    complete : Out(1)
        ``first`` and ``second`` are the operands of an addition.
    first, second : Out(32)
    """

    arrive: In(1)
    value: In(32)
    take: In(1)
    complete: Out(1)
    first: Out(32)
    second: Out(32)

    def elaborate(self, platform):
        m = Module()
        waiting = Signal()  # `first` is there
        full = Signal()  # and `held` too
        held = Signal(32, reset_less=True)
        first = Signal(32, reset_less=True)

        m.d.comb += [
            self.complete.eq(full | (waiting & self.arrive)),
            self.first.eq(first),
            self.second.eq(Mux(full, held, self.value)),
        ]
        with m.If(self.take):
            m.d.sync += [waiting.eq(0), full.eq(0)]
        with m.Elif(self.arrive):
            with m.If(waiting):
                m.d.sync += [full.eq(1), held.eq(self.value)]
            with m.Else():
                m.d.sync += [waiting.eq(1), first.eq(self.value)]
        return m


class Accumulator(wiring.Component):
    """An adder with an operand register, which can also fold a stream of elements.

    With ``accumulate`` low: ``o = a + b`` or ``a - b``, ``1 + adder_latency`` clocks later.

    With ``accumulate`` high: each pass, a run of elements on ``a`` ending with ``last``, gives

        sum = ((q0 + q1) + (q2 + q3)) + ((q4 + q5) + (q6 + q7))

    of eight partial sums that start at +0; element ``e`` is added to ``q(e mod 8)``. Operand
    register, adder and delay registers are a loop of eight clocks, so a partial arrives at its
    head together with its next element. In the eight clocks after ``last`` every partial passes
    the head once more, and neighbours are added; the other two levels use whatever issue slots
    neither elements nor these pairs need, so the elements of the next pass do not wait.

    One element per clock; from ``last`` to ``sum_valid`` it is ``3*adder_latency + 11`` clocks if
    no other pass follows.

    Parameters
    ----------
    adder_latency : int
        Pipeline depth of the adder, 1 to 7: one of the eight clocks is the operand register's.

    Members
    -------
    accumulate : In(1)
        Mode; changes only while nothing is in flight.
    valid : In(1)
        ``a`` is an element (``accumulate`` only). The elements of one pass, 1 to 2^32, come in
        consecutive clocks. Between passes there are at least eight clocks without, and at least
        ``min_period(adder_latency)`` from first element to first element. A pass of another
        length waits for the sums of those before it.
    last : In(1)
        The element is the last one of its pass.
    a, b : In(32)
        Operands; binary32 patterns. ``b`` is not used by ``accumulate``.
    subtract : In(1)
        Subtract ``b`` instead of adding it; not used by ``accumulate``.
    o : Out(32)
        Result without ``accumulate``.
    sum : Out(32)
        Fold of a pass while ``sum_valid``; in the order of the passes.
    sum_valid : Out(1)
        High for one clock per pass.

    Raises
    ------
    ValueError
        If ``adder_latency`` is out of range.
    """

    accumulate: In(1)
    valid: In(1)
    last: In(1)
    a: In(32)
    b: In(32)
    subtract: In(1)
    o: Out(32)
    sum: Out(32)
    sum_valid: Out(1)

    def __init__(self, *, adder_latency: int):
        if not 1 <= adder_latency < PARTIALS:
            raise ValueError(f"adder_latency must be 1 to {PARTIALS - 1}, got {adder_latency}")
        self.adder_latency = adder_latency
        super().__init__()

    @property
    def latency(self) -> int:
        """Clocks from ``a`` and ``b`` to ``o``."""
        return 1 + self.adder_latency

    def elaborate(self, platform):
        m = Module()
        m.submodules.adder = adder = Adder(latency=self.adder_latency)

        # The loop. tags[i] belongs to the operands registered i + 1 clocks ago.
        tags = [Signal(Tag, name=f"tag_{age}") for age in range(PARTIALS)]
        m.d.sync += [older_tag.eq(newer_tag) for newer_tag, older_tag in pairwise(tags)]
        result_tag = tags[self.adder_latency]
        head = adder.o
        for delay in range(PARTIALS - 1 - self.adder_latency):
            delayed = Signal(32, name=f"delay_{delay}", reset_less=True)
            m.d.sync += delayed.eq(head)
            head = delayed

        # The tag at the head also tells a partial from what was there before the pass: in the
        # gap of eight clocks no element entered the loop. Partials never written are +0.
        partial = Signal(32)
        m.d.comb += partial.eq(Mux(tags[-1] == Tag.PARTIAL, head, 0))
        previous = Signal(32, reset_less=True)
        m.d.sync += previous.eq(partial)

        # Which partial is at the head: the one of the current element, and in clock 1 to 8 of the
        # gap after n elements those of index n, n+1, ... n+7 (mod 8).
        element = Signal()
        index = Signal(3)
        gap = Signal(range(PARTIALS + 1))
        m.d.comb += element.eq(self.accumulate & self.valid)
        with m.If(element):
            m.d.sync += index.eq(index + 1)
            with m.If(self.last):
                m.d.sync += gap.eq(1)
        with m.Elif(gap == PARTIALS):
            m.d.sync += [gap.eq(0), index.eq(0)]
        with m.Elif(gap != 0):
            m.d.sync += [gap.eq(gap + 1), index.eq(index + 1)]

        # Neighbours meet when the odd one is at the head. If the odd one of a pair comes first of
        # all, then it waits for its neighbour, which comes last.
        stray = Signal(32, reset_less=True)
        with m.If(gap == 1):
            m.d.sync += stray.eq(partial)
        pair = Signal()
        m.d.comb += pair.eq(((gap > 1) & index[0]) | (gap == PARTIALS))

        m.submodules.low = low = PairQueue()
        m.submodules.high = high = PairQueue()
        m.submodules.quartets = quartets = PairQueue()
        queues = (
            # Level 3 first: it is of the older pass.
            (quartets, Tag.QUARTET, Tag.SUM),
            (low, Tag.PAIR_LOW, Tag.QUARTET),
            (high, Tag.PAIR_HIGH, Tag.QUARTET),
        )
        for queue, operand_tag, _ in queues:
            m.d.comb += [queue.arrive.eq(result_tag == operand_tag), queue.value.eq(adder.o)]
        # Level 2 of a pass starts after level 3 of the pass before: `quartets` never has operands
        # of two passes, however irregular the free slots are.
        low_taken = Signal()
        high_taken = Signal()
        with m.If(low.take):
            m.d.sync += low_taken.eq(1)
        with m.If(high.take):
            m.d.sync += high_taken.eq(1)
        with m.If(quartets.take):
            m.d.sync += [low_taken.eq(0), high_taken.eq(0)]
        blocked = {quartets: C(0), low: low_taken, high: high_taken}

        augend = Signal(32, reset_less=True)
        addend = Signal(32, reset_less=True)
        subtract = Signal(reset_less=True)
        m.d.sync += [
            augend.eq(self.a),
            addend.eq(self.b),
            subtract.eq(self.subtract & ~self.accumulate),
            tags[0].eq(Tag.NONE),
        ]
        with m.If(element):
            m.d.sync += [addend.eq(partial), tags[0].eq(Tag.PARTIAL)]
        with m.Elif(pair):
            m.d.sync += [
                augend.eq(Mux(index[0], previous, stray)),
                addend.eq(partial),
                tags[0].eq(Mux(index[2], Tag.PAIR_HIGH, Tag.PAIR_LOW)),
            ]
        for queue, _, sum_tag in queues:
            with m.Elif(queue.complete & ~blocked[queue]):
                m.d.comb += queue.take.eq(1)
                m.d.sync += [
                    augend.eq(queue.first),
                    addend.eq(queue.second),
                    tags[0].eq(sum_tag),
                ]

        m.d.comb += [
            adder.a.eq(augend),
            adder.b.eq(addend),
            adder.subtract.eq(subtract),
            self.o.eq(adder.o),
            self.sum.eq(adder.o),
            self.sum_valid.eq(result_tag == Tag.SUM),
        ]
        return m
