"""Reciprocal of a binary32 number (batchnorm.md section 9).

Newton-Raphson on a table seed, then one exact remainder to settle the last bit. Why the widths
suffice:

Let ``s`` be the 24-bit significand and ``d = s / 2^24``, so ``1/2 <= d < 1``. The wanted
significand of 1/x and its rounding bit are the quotient ``q = floor(2^48 / s) = floor(2^24 / d)``,
which lies between 2^24 and 2^25. Nothing below it matters: ``2^n / s`` is exactly half way
between two integers only if s divides 2^(n+1), i.e. is a power of two, and then 2^n / s is an
integer for every n used here. Rounding to nearest is adding the rounding bit. A subnormal result
needs ``floor(2^(48 - k) / s)`` with k = 1 or 2, which is ``q >> k``: the bits are cut from q before
the only rounding, so there is no double rounding.

*Seed.* The six bits after the leading one of s select one of 64 intervals of d of width 2^-7. The
entry is the reciprocal of the interval's middle m, rounded to eight fraction bits. At the ends of
an interval the relative error is at most ``2^-8 / m`` from half the width plus ``2^-9 * d`` from
rounding. The first falls faster with m than the second grows, so the lowest interval, with
m = 129/256 and d up to 65/128, bounds all: ``e0 = |1 - d*y0| <= 1/129 + 65/2^16 < 1.125 * 2^-7``.

*Refinement.* In exact arithmetic ``y*(2 - d*y)`` falls short of 1/d by ``e^2 / d``. With F = 26
fraction bits, ``2 - d*y`` is formed by complement, too small by at most 2^-F and never exact, and
the product is truncated, too small by less than 2^-F. As y < 2, ::

    0 < 1/d - y' < e^2/d + 3 * 2^-F

The result never exceeds 1/d, so it stays below 2 and F + 1 bits hold it. In relative terms
``e1 < e0^2 + 3 * 2^-F < 1.27 * 2^-14``, and after the second iteration ::

    2^24 * (1/d - y2) < 2^24 * (2 * e1^2 + 3 * 2^-26) < 0.21 + 0.75 < 1

*Correction.* ``c = floor(2^24 * y2)`` is at most 2^24 / d and less than 2 below it, hence q is c or
c + 1, and it is c + 1 exactly if the remainder ``2^48 - c*s`` is at least s. That remainder is less
than 2*s < 2^25, so 25 bits of the product c*s decide.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .format import CANONICAL_NAN, FRACTION_BITS, MAX_FIELD, SIGNIFICAND_BITS, Float

INDEX_BITS = 6
SEED_BITS = 8
ITERATIONS = 2

Y_FRACTION = 26
"""Fraction bits of the approximation y, which has one integer bit."""

QUOTIENT_FRACTION = 24
"""Fraction bits of y that belong to the quotient: 23 of the result, one to round it."""

PRODUCTS = 2 * ITERATIONS + 1

SEEDS = tuple(
    # Middle of interval i: (2*i + 129) / 256.
    round((1 << SEED_BITS) * 256 / (2 * index + 129)) - (1 << SEED_BITS)
    for index in range(1 << INDEX_BITS)
)
"""Fraction bits of the seeds; the integer bit is always 1."""


class Reciprocal(wiring.Component):
    """1/x, correctly rounded to nearest even, for one operand at a time.

    Subnormal operands and results are exact cases of the same rule. 1/0 is Inf and 1/Inf is zero,
    each with the sign of the operand; a result above the largest finite value is Inf; NaN gives
    the canonical NaN.

    Latency from the accepting clock edge to ``o.valid`` is 13 clocks in the worst case, 1 clock
    for NaN, Inf, zero, and operands whose reciprocal overflows. The next operand is accepted one
    clock after the result is taken: at best one per 14 clocks.

    Members
    -------
    i : In(stream.Signature(32))
        Operands, binary32 patterns.
    o : Out(stream.Signature(32))
        Results in the same order; a result is held until it is accepted.
    """

    i: In(stream.Signature(32))
    o: Out(stream.Signature(32))

    def elaborate(self, platform):
        m = Module()

        x = Signal(Float)
        m.d.comb += x.eq(self.i.payload)

        sign = Signal(reset_less=True)
        significand = Signal(SIGNIFICAND_BITS, reset_less=True)
        field = Signal(8, reset_less=True)
        cut = Signal(2, reset_less=True)
        y = Signal(Y_FRACTION + 1, reset_less=True)
        factor = Signal(Y_FRACTION + 1, reset_less=True)
        product = Signal(2 * (Y_FRACTION + 1), reset_less=True)
        step = Signal(range(PRODUCTS))
        result = Signal(32, reset_less=True)
        m.d.comb += self.o.payload.eq(result)

        # 1 / 2^-128 is 2^128, which is beyond the largest finite value, so of the subnormals only
        # those with one of their two highest bits set have a finite reciprocal; 2^-128 itself
        # overflows in the final addition.
        is_tiny = x.is_subnormal_or_zero() & ~x.fraction[-2:].any()

        remainder = Signal(SIGNIFICAND_BITS + 1)
        quotient = y[Y_FRACTION - QUOTIENT_FRACTION :]
        scaled_product = product[Y_FRACTION - QUOTIENT_FRACTION :]
        m.d.comb += remainder.eq(-scaled_product)  # 2^48 - c*s, of which the low bits suffice

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [sign.eq(x.sign), step.eq(0)]
                # With e the operand's exponent field, continued downwards for subnormals, the
                # result is q/2 units of 2^(252 - e) times the least subnormal. Its field is one
                # more, 253 - e: the leading one of q/2 adds that. Where 252 - e is negative the
                # result is subnormal and loses e - 252 more bits, at most 2.
                with m.If(x.is_subnormal_or_zero()):
                    with m.If(x.fraction[-1]):
                        m.d.sync += [significand.eq(x.fraction << 1), field.eq(252)]
                    with m.Else():
                        m.d.sync += [significand.eq(x.fraction << 2), field.eq(253)]
                    m.d.sync += cut.eq(0)
                with m.Else():
                    m.d.sync += significand.eq(x.significand())
                    with m.If(x.exponent[2:].all()):  # 252 or more
                        m.d.sync += [field.eq(0), cut.eq(x.exponent[:2])]
                    with m.Else():
                        m.d.sync += [field.eq(252 - x.exponent), cut.eq(0)]

                infinity = Cat(C(0, FRACTION_BITS), C(MAX_FIELD, 8), x.sign)
                zero = Cat(C(0, 31), x.sign)
                special = Mux(x.is_nan(), CANONICAL_NAN, Mux(x.is_special(), zero, infinity))
                m.d.sync += result.eq(special)
                with m.If(self.i.valid):
                    with m.If(x.is_special() | is_tiny):
                        m.next = "DONE"
                    with m.Else():
                        m.next = "SEED"

            with m.State("SEED"):
                seed = Array(C(seed, SEED_BITS) for seed in SEEDS)[
                    significand[FRACTION_BITS - INDEX_BITS : FRACTION_BITS]
                ]
                m.d.sync += [
                    y.eq(Cat(C(0, Y_FRACTION - SEED_BITS), seed, C(1, 1))),
                    factor.eq(significand),
                ]
                m.next = "MULTIPLY"

            with m.State("MULTIPLY"):
                m.d.sync += product.eq(y * factor)
                m.next = "UPDATE"

            # Products alternate: d*y, then y*(2 - d*y); the last one is c*s.
            with m.State("UPDATE"):
                m.d.sync += step.eq(step + 1)
                m.next = "MULTIPLY"
                with m.If(step == PRODUCTS - 1):
                    m.d.sync += y.eq(quotient + (remainder >= significand))
                    m.next = "ROUND"
                with m.Elif(step[0] == 0):
                    # 2^(F+1) - 1 - floor(d*y * 2^F)
                    m.d.sync += factor.eq(~product[SIGNIFICAND_BITS:])
                with m.Else():
                    m.d.sync += factor.eq(significand)
                    refined = product[Y_FRACTION : 2 * Y_FRACTION + 1]
                    with m.If(step == PRODUCTS - 2):
                        below = Y_FRACTION - QUOTIENT_FRACTION
                        m.d.sync += y.eq(Cat(C(0, below), refined[below:]))
                    with m.Else():
                        m.d.sync += y.eq(refined)

            with m.State("ROUND"):
                # A carry out of the fraction increments the field, up to that of Inf.
                rounded = ((y >> cut) + 1) >> 1
                magnitude = (rounded + (field << FRACTION_BITS))[:31]
                m.d.sync += result.eq(Cat(magnitude, sign))
                m.next = "DONE"

            with m.State("DONE"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"

        return m
