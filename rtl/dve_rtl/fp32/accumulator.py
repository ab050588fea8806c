"""One adder as an element unit or as the folds of batchnorm.md sections 8 and 10.

The additions of a fold are the inner nodes of a binary tree, numbered as in a heap: node ``k`` is
the sum of nodes ``2 k`` and ``2 k + 1``, the partial sums are nodes 8 to 15, and node 1 is the
result. Every addition of the adder is for one node (0: for none), and its result is kept in a
memory word of that number.

Clocks of a pass go round through eight places, and a partial sum belongs to each. Which leaf the
partial of place ``i`` is, distinguishes the folds (``Fold``). In each of them the two partials of a
pair lie a fixed distance apart, the even leaf first:

======= ================= ======== ==========================================================
fold    leaf of place i   distance because
======= ================= ======== ==========================================================
WHOLE   i                 1        element e is added to qe
HALVES  i rotated right   2        q0, q2, q4, q6 are the leaves of node 2, the others of node 3
TUPLES  3 i (mod 8)       3        element k comes in clock 3 k, in place 3 k; and 9 k = k
======= ================= ======== ==========================================================
"""

from itertools import pairwise

from amaranth import *
from amaranth.lib import data, enum, memory, wiring
from amaranth.lib.wiring import In, Out

from ..config import PARTIALS
from .adder import Adder

ROOT, UPPER = 1, (1, 2, 3)
"""The result, and the nodes whose additions take any free slot."""


class Fold(enum.Enum, shape=2):
    """How the elements of a pass are folded."""

    WHOLE = 0  # all to one sum
    HALVES = 1  # those of even and of odd ordinal to a sum each
    TUPLES = 2  # every third, from the first on, to one sum


DISTANCE = {Fold.WHOLE: 1, Fold.HALVES: 2, Fold.TUPLES: 3}
"""Clocks between the partials of a pair."""


def _leaf(m: Module, fold: Value, place: Value, name: str) -> Signal:
    """Which of the eight leaves the partial of a place is."""
    leaf = Signal(3, name=name)
    with m.Switch(fold):
        with m.Case(Fold.HALVES):
            m.d.comb += leaf.eq(Cat(place[1:3], place[0]))
        with m.Case(Fold.TUPLES):
            m.d.comb += leaf.eq(place + (place << 1))
        with m.Default():
            m.d.comb += leaf.eq(place)
    return leaf


def min_period(adder_latency: int) -> int:
    """Fewest clocks from the first element of a pass to that of the next.

    With at least this period and the gap of eight clocks, no operand of a fold is overwritten
    before its addition starts, for passes of equal length at any, even irregular, periods. Below
    it short passes of deep adders lose operands; up to latency 5 the gap alone is enough (one
    element and eight clocks). Passes of different lengths must not overlap their folds.
    """
    return max(1 + PARTIALS, adder_latency + 4)


class Children(wiring.Component):
    """Counts the operands of one node: those of a pass, and the first one of the next.

    An operand counts two clocks before it leaves the adder, which is when the addition that takes
    it from there is planned.

    Members
    -------
    coming : In(1)
        The node's next operand leaves the adder in two clocks.
    is_odd : In(1)
        Last bit of that operand's number.
    take : In(1)
        The addition starts in the next clock.
    leads : Out(1)
        The coming operand is the first of the two.
    ready : Out(1)
        There are, or are coming, two operands, so the addition can be planned.
    first_is_odd : Out(1)
        Last bit of the number of the first operand.
    """

    coming: In(1)
    is_odd: In(1)
    take: In(1)
    leads: Out(1)
    ready: Out(1)
    first_is_odd: Out(1)

    def elaborate(self, platform):
        m = Module()
        one = Signal()
        two = Signal()
        third = Signal()
        third_is_odd = Signal()
        second = Signal()
        m.d.comb += [
            second.eq(self.coming & Mux(self.take, third, one & ~two)),
            self.leads.eq(self.coming & ~second),
            self.ready.eq(~self.take & (two | (one & self.coming))),
        ]
        m.d.sync += [
            one.eq(self.coming | third | (one & ~self.take)),
            two.eq(second | (two & ~self.take)),
            third.eq(~self.take & (third | (self.coming & two))),
        ]
        with m.If(~third):
            m.d.sync += third_is_odd.eq(self.is_odd)
        with m.If(self.take & third):
            m.d.sync += self.first_is_odd.eq(third_is_odd)
        with m.Elif(self.take | ~one):
            m.d.sync += self.first_is_odd.eq(self.is_odd)
        return m


class Accumulator(wiring.Component):
    """An adder with an operand register, which can also fold a stream of elements.

    With ``accumulate`` low: ``o = a + b`` or ``a - b``, ``1 + adder_latency`` clocks later.

    With ``accumulate`` high: each pass, a run of elements on ``a`` ending with ``last``, gives

        sum = ((q0 + q1) + (q2 + q3)) + ((q4 + q5) + (q6 + q7))

    of eight partial sums that start at +0; element ``e`` is added to ``q(e mod 8)``. A partial
    comes round once in eight clocks, together with its next element. In the eight clocks after
    ``last`` every partial comes round once more, and pairs are added; the other two levels use
    whatever issue slots neither elements nor these pairs need, so the elements of the next pass do
    not wait.

    With ``fold`` HALVES a pass gives two sums, ``(q0 + q2) + (q4 + q6)`` and
    ``(q1 + q3) + (q5 + q7)``, in any order. With TUPLES the clocks of a pass are a multiple of
    three and only the first of three brings an element; +0 is added in the others, which changes
    no partial, for none is ever -0.

    An addition of the fold takes its second operand from the adder's output in the clock in which
    it appears there, past the operand register, if the slot is free; else from memory, later.

    One element per clock; from ``last`` to ``sum_valid`` it is ``3*adder_latency + 8`` clocks if
    no other pass follows, and ``2*adder_latency + 8`` to the later of two halves (with an adder of
    one clock, one more where two additions want one slot: of HALVES, and of WHOLE after 4 k + 1
    elements).

    Parameters
    ----------
    adder_latency : int
        Pipeline depth of the adder, 1 to 7: one of the eight clocks is the operand register's.

    Members
    -------
    accumulate : In(1), fold : In(Fold)
        Mode; changes only while nothing is in flight.
    valid : In(1)
        ``a`` is an element (``accumulate`` only). The elements of one pass, 1 to 2^32, come in
        consecutive clocks. Between passes there are at least eight clocks without, and at least
        ``min_period(adder_latency)`` from first element to first element. A pass of another
        length waits for the sums of those before it.
    last : In(1)
        The element is the last one of its pass.
    blank : In(1)
        Take +0 for ``a``, in a clock of TUPLES without an element.
    a, b : In(32)
        Operands; binary32 patterns. ``b`` is not used by ``accumulate``.
    subtract : In(1)
        Subtract ``b`` instead of adding it; not used by ``accumulate``.
    o : Out(32)
        Result without ``accumulate``.
    sum : Out(32)
        Fold of a pass while ``sum_valid``; in the order of the passes.
    sum_valid : Out(1)
        High for one clock per sum.
    sum_is_odd : Out(1)
        Of HALVES, it is the sum of the odd ordinals.

    Raises
    ------
    ValueError
        If ``adder_latency`` is out of range.
    """

    accumulate: In(1)
    fold: In(Fold)
    valid: In(1)
    last: In(1)
    blank: In(1)
    a: In(32)
    b: In(32)
    subtract: In(1)
    o: Out(32)
    sum: Out(32)
    sum_valid: Out(1)
    sum_is_odd: Out(1)

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
        latency = self.adder_latency
        # Where a partial is when it has come round: with the deepest adder it just leaves it, with
        # one less it did so a clock ago, else it is in memory.
        deepest = latency == PARTIALS - 1
        next_to_deepest = latency == PARTIALS - 2
        m.submodules.adder = adder = Adder(latency=latency)
        m.submodules.results = results = memory.Memory(
            shape=unsigned(32), depth=2 * PARTIALS, init=[]
        )
        write = results.write_port()
        read_a = results.read_port(domain="comb")
        read_b = results.read_port(domain="comb")

        # nodes[0] starts in the next clock, nodes[i] started i - 1 clocks ago. parents[i] are the
        # upper nodes of which it is an operand, one bit each. A partial (bit 3 of its number is
        # set) is none; that also tells it from what was there before the pass, since no element
        # started in the gap of eight clocks. Partials never started are +0.
        ages = PARTIALS + max(DISTANCE.values()) - 1
        nodes = [Signal(4, name=f"node_{age}") for age in range(ages)]
        parents = [Signal(len(UPPER), name=f"parents_{age}") for age in range(latency + 1)]
        for line in (nodes, parents):
            m.d.sync += [older.eq(newer) for newer, older in pairwise(line)]
        done = nodes[latency + 1]
        halves = self.fold == Fold.HALVES
        m.d.comb += [
            write.addr.eq(done),
            write.data.eq(adder.o),
            write.en.eq(1),
            self.sum.eq(adder.o),
            self.sum_valid.eq(Mux(halves, done[1:] == ROOT, done == ROOT)),
            self.sum_is_odd.eq(done[0]),
        ]

        # The partial that has come round is `index`: of the current element, and in clock 1 to 8
        # of the gap after n elements n, n+1, ... n+7 (mod 8).
        element = Signal()
        index = Signal(3)
        following = Signal(3)
        gap = Signal(range(PARTIALS))
        m.d.comb += [element.eq(self.accumulate & self.valid), following.eq(index + 1)]
        with m.If(element):
            m.d.sync += index.eq(following)
            with m.If(self.last):
                m.d.sync += gap.eq(1)
        with m.Elif(gap == PARTIALS - 1):
            m.d.sync += [gap.eq(0), index.eq(0)]
        with m.Elif(gap != 0):
            m.d.sync += [gap.eq(gap + 1), index.eq(following)]

        # Planning, one clock ahead. A pair is added when its second partial comes round, which is
        # the odd leaf if the even one has come before it. If the odd one of a pair comes in the
        # first clocks of the gap, the stray, then it waits for the even one, 8 less the distance
        # later. No element has begun those of the first clocks if none has begun the very first.
        stray_exists = Signal()
        with m.If(gap == 1):
            m.d.sync += stray_exists.eq(nodes[PARTIALS][3])
        number = _leaf(m, self.fold, index, "number")
        second = _leaf(m, self.fold, (following + 1)[:3], "second")
        is_stray = ~second[0]
        in_gap = (element & self.last) | ((gap != 0) & (gap != PARTIALS - 1))
        will_pair = Signal()
        first_exists = Signal()
        with m.Switch(self.fold):
            for fold, distance in DISTANCE.items():
                with m.Case(fold):
                    # In clock `gap` it is planned for the one that comes in clock `gap + 2`.
                    has_come = Mux(is_stray, gap >= PARTIALS - 1 - distance, gap >= distance - 1)
                    m.d.comb += [
                        will_pair.eq(in_gap & has_come),
                        first_exists.eq(
                            Mux(is_stray, stray_exists, nodes[PARTIALS - 2 + distance][3])
                        ),
                    ]

        plan, leading, upper_is_odd = self._plan_upper(m, nodes, parents, will_pair)
        here = plan.next & parents[latency]

        slot = Signal(3)  # node to start if there is no element: 4 to 7, or 1 to 3, or none
        pair = slot[2]
        first_is_odd = Signal()
        first_here = Signal()
        second_here = Signal()
        pair_follows = Signal()
        augend_is_zero = Signal()
        m.d.sync += [
            slot.eq(
                Mux(
                    will_pair,
                    Cat(second[1:], C(1, 1)),
                    Cat(plan.next[0] | plan.next[2], plan.next[1] | plan.next[2], C(0, 1)),
                )
            ),
            first_is_odd.eq(Mux(will_pair, is_stray, upper_is_odd)),
            first_here.eq(
                Mux(
                    will_pair,
                    (self.fold == Fold.WHOLE) & ~is_stray & deepest,
                    (here & parents[latency - 1]).any() & leading,
                )
            ),
            second_here.eq(Mux(will_pair, next_to_deepest, here.any() & ~leading)),
            pair_follows.eq(will_pair & nodes[6][3] & deepest),
            augend_is_zero.eq(will_pair & ~first_exists),
        ]
        m.d.comb += [
            nodes[0].eq(Mux(element, Cat(number, C(1, 1)), slot)),
            parents[0].eq(
                Mux(element, 0, Cat(~halves & plan.now[1:].any(), pair & ~slot[1], pair & slot[1]))
            ),
            read_a.addr.eq(Cat(first_is_odd, slot)),
            read_b.addr.eq(Cat(~first_is_odd, slot)),
        ]
        if not deepest:
            with m.If(element):
                m.d.comb += read_b.addr.eq(nodes[8])

        # Operands. `bypass` says that the second one is at the adder's output; it is the last one
        # of a pair only if the adder is of the deepest.
        augend = Signal(32, reset_less=True)
        addend = Signal(32, reset_less=True)
        subtract = Signal(reset_less=True)
        bypass = Signal()
        second_follows = ((plan.now & parents[latency]).any() & ~leading) | pair_follows
        fresh = Mux(self.valid, deepest, second_here)
        there = Mux(self.valid, nodes[8][3], ~pair | (nodes[7][3] & (not deepest)))
        summand = Mux(fresh, adder.o, read_b.data)
        folded = Mux(first_here, adder.o, read_a.data)
        m.d.sync += [
            augend.eq(
                Mux(
                    Mux(element, self.blank, augend_is_zero),
                    0,
                    Mux(self.valid | ~self.accumulate, self.a, folded),
                )
            ),
            addend.eq(Mux(self.accumulate & ~there, 0, Mux(self.accumulate, summand, self.b))),
            subtract.eq(self.subtract & ~self.accumulate),
            bypass.eq(~self.valid & second_follows),
        ]
        m.d.comb += [
            adder.a.eq(augend),
            adder.b.eq(Mux(bypass, adder.o, addend)),
            adder.subtract.eq(subtract),
            self.o.eq(adder.o),
        ]
        return m

    def _plan_upper(self, m, nodes, parents, will_pair):
        """Choose an addition of the upper nodes for the next slot.

        Level 3 comes first: it is of the older pass. Level 2 of a pass starts after level 3 of the
        pass before, so that the root never has operands of two passes, however irregular the free
        slots are.

        Returns
        -------
        plan : record with now and next
            The node planned for this clock and for the next, one bit each. It is not started if
            there is an element.
        leading : Signal
            The operand that leaves the adder in the next clock is the first of two.
        is_odd : Value
            Last bit of the number of the first operand of ``next``.
        """
        coming = self.adder_latency - 1
        plan = Signal(data.StructLayout({"now": len(UPPER), "next": len(UPPER)}))
        started = Signal(len(UPPER))
        m.d.comb += started.eq(plan.now & (~self.valid).replicate(len(UPPER)))
        children = []
        for bit, node in enumerate(UPPER):
            m.submodules[f"children_{node}"] = child = Children()
            m.d.comb += [
                child.coming.eq(parents[coming][bit]),
                child.is_odd.eq(nodes[coming][0]),
                child.take.eq(started[bit]),
            ]
            children.append(child)
        halves = self.fold == Fold.HALVES
        waits = Signal(2)  # for the root to start, if there is one: nodes 2 and 3 have
        blocked = Signal(2)
        leading = Signal()
        m.d.comb += blocked.eq(waits & ~started[0].replicate(2))
        m.d.sync += [
            waits.eq(blocked | (started[1:] & ~halves.replicate(2))),
            leading.eq(Cat(child.leads for child in children).any()),
        ]
        free = ~will_pair
        for bit, child in enumerate(children):
            can = child.ready if bit == 0 else child.ready & ~blocked[bit - 1]
            m.d.comb += plan.next[bit].eq(free & can)
            free &= ~can
        m.d.sync += plan.now.eq(plan.next)
        is_odd = (plan.next & Cat(child.first_is_odd for child in children)).any()
        return plan, leading, is_odd
