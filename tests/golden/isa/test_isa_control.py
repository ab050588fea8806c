"""Control values: defaults of each generation, and what is no value."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from dve_golden.isa.control import RESET_CONTROL, Control, IntegerRounding
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


def test_it_is_immutable():
    control: Any = Control()
    with pytest.raises(FrozenInstanceError):
        control.sis = True
