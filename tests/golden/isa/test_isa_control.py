"""Control values: defaults of each generation, and what is no value."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from dve_golden.isa.control import CONTROL_WORDS, RESET_CONTROL, Control, IntegerRounding
from dve_golden.isa.generations import Generation


def test_defaults_differ_in_the_largest_exponent_of_e4m3_alone():
    exponents = {generation: RESET_CONTROL[generation].emax_e4m3 for generation in Generation}
    assert exponents == {
        Generation.SUNDA: 7,
        Generation.CAYMAN: 7,
        Generation.MARIANA: 8,
        Generation.MAVERICK: 8,
    }
    for control in RESET_CONTROL.values():
        assert replace(control, emax_e4m3=7) == Control()


def test_defaults_are_those_of_the_specification():
    assert Control() == Control(
        emax_e4m3=7,
        range_extension=False,
        ocp_sat=False,
        sis=False,
        sns=False,
        integer_rounding=IntegerRounding.TOWARD_ZERO,
        flush_to_zero=False,
    )


@pytest.mark.parametrize("emax", [-1, 0, 6, 9])
def test_other_exponents_are_refused(emax):
    with pytest.raises(ValueError, match=f"emax_e4m3 is 7 or 8, got {emax}"):
        Control(emax_e4m3=emax)


def test_words_are_in_the_order_of_the_fields():
    assert (
        *("emax_e4m3", "range_extension", "ocp_sat", "sis", "sns"),
        *("integer_rounding", "flush_to_zero"),
    ) == CONTROL_WORDS
    words = Control().words
    assert (words.dtype, words.tolist()) == (np.uint32, [7, 0, 0, 0, 0, 0, 0])
    for index, name in enumerate(CONTROL_WORDS):
        value = 8 if index == 0 else 1
        changed = np.where(np.arange(7) == index, value, words)
        control = Control.from_words(changed)
        assert control == replace(Control(), **{name: value})
        np.testing.assert_array_equal(control.words, changed)
    rounding = Control.from_words([7, 0, 0, 0, 0, 1, 0]).integer_rounding
    assert rounding is IntegerRounding.NEAREST_EVEN


@pytest.mark.parametrize("index", range(1, 7))
def test_other_words_are_refused(index):
    words = Control().words
    words[index] = 2
    with pytest.raises(ValueError, match=f"^{CONTROL_WORDS[index]} is 0 or 1, got 2$"):
        Control.from_words(words)


def test_the_number_of_words_is_fixed():
    with pytest.raises(ValueError, match="control has 7 words, got 6"):
        Control.from_words([7, 0, 0, 0, 0, 0])
    with pytest.raises(ValueError, match="emax_e4m3 is 7 or 8, got 0"):
        Control.from_words([0] * 7)


def test_it_is_immutable():
    control: Any = Control()
    with pytest.raises(FrozenInstanceError):
        control.sis = True
