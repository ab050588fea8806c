"""The element formulas against scalar SoftFloat, operation by operation."""

import numpy as np
from binary32_scalar import CANONICAL_NAN, SPECIAL, mul, sub
from dve_golden.fp32.arithmetic import canonicalize, input_gradient, normalize


def floats(bits):
    return np.array(bits, np.uint32).view(np.float32)


def patterns(values):
    assert values.dtype == np.float32  # nothing was promoted
    return canonicalize(values.copy()).view(np.uint32)


def operands(seed, *shape):
    """Half special patterns, half numbers of ordinary size with full significands."""
    rng = np.random.default_rng(seed)
    ordinary = rng.standard_normal(shape).astype(np.float32).view(np.uint32)
    special = rng.choice(np.array(SPECIAL, np.uint32), shape)
    return np.where(rng.random(shape) < 0.5, special, ordinary)


def test_normalize():
    om, mean, inv_std = operands(1, 15, 40), operands(2, 15), operands(3, 15)
    with np.errstate(all="ignore"):
        got = patterns(normalize(floats(om), floats(mean), floats(inv_std)))
    want = [
        [mul(sub(x, m), s) for x in row]
        for row, m, s in zip(om.tolist(), mean.tolist(), inv_std.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(got, want)


def test_input_gradient():
    x, dy = operands(4, 30, 20), operands(5, 30, 20)
    lanes = operands(6, 5, 30)
    with np.errstate(all="ignore"):
        got = patterns(input_gradient(floats(x), floats(dy), *floats(lanes)))
    for k, (n, mean, b, c, prefactor) in enumerate(lanes.T.tolist()):
        for e, (x_e, dy_e) in enumerate(zip(x[k].tolist(), dy[k].tolist(), strict=True)):
            t2 = sub(mul(n, dy_e), b)
            t3 = mul(sub(x_e, mean), c)
            assert got[k, e] == mul(prefactor, sub(t2, t3)), (k, e)


def test_nothing_is_contracted():
    """A fused t2 - c * C would keep the low half of the product."""
    c = np.float32(1 + 2.0**-12)
    ones = np.ones(1, np.float32)
    got = input_gradient(
        x=np.full((1, 1), c),
        dy=np.full((1, 1), np.float32(1 + 2.0**-11)),
        n=ones,
        mean=0 * ones,
        b=0 * ones,
        c=c * ones,
        prefactor=ones,
    )
    assert got[0, 0] == 0  # c * c = 1 + 2^-11 + 2^-24 rounds to 1 + 2^-11


def test_canonicalize_touches_nan_only():
    bits = np.array(SPECIAL, np.uint32)
    values = bits.view(np.float32).copy()
    assert canonicalize(values) is values
    want = [CANONICAL_NAN if b & 0x7FFF_FFFF > 0x7F80_0000 else b for b in SPECIAL]
    np.testing.assert_array_equal(values.view(np.uint32), want)
