"""Which unit a mutant belongs to, and what that unit alone is given."""

import pytest
from dve_cosim.engine import engine_verilog
from dve_cosim.mutation.selection import CONFIG
from dve_cosim.mutation.sites import Mutant, sites_of
from dve_cosim.mutation.unit_alone import KINDS, _matched, unit_of, unit_runs


@pytest.mark.parametrize(
    ("module", "unit"),
    [
        ("dve_lane.units.mul0", "dve_lane.units.mul0"),
        ("dve_lane.units.mul0.product", "dve_lane.units.mul0"),
        ("dve_lane.units.acc1.adder", "dve_lane.units.acc1.adder"),
        ("dve_lane.units.acc1", None),
        ("dve_lane.widen10", None),
        ("dve_engine", None),
    ],
)
def test_the_unit_of_a_module(module, unit):
    assert unit_of(module) == unit


def test_every_unit_of_the_lane_is_given_its_operations():
    text = engine_verilog(CONFIG)
    sites = sites_of(text)
    mutants = [Mutant(sites[unit][0], sites[unit][0].changes[0]) for unit in KINDS]
    runs = unit_runs(text, mutants, CONFIG)
    assert runs.keys() == KINDS.keys()
    operations = {unit: [entry.name for entry in run.operations] for unit, run in runs.items()}
    assert operations["dve_lane.units.acc0.adder"] == ["add", "subtract"]
    assert operations["dve_lane.units.sub"] == ["add", "subtract"]
    assert operations["dve_lane.units.mul2"] == ["multiply"]
    assert len(operations["dve_lane.widen0"]) == 12
    assert len(operations["dve_lane.narrow"]) == 13


def test_without_a_mutant_a_unit_is_not_built():
    assert unit_runs("no Verilog at all", [], CONFIG) == {}


def test_members_and_ports():
    assert _matched(["a", "b"], {"a", "\\b$7"}) == {"a": "a", "b": "\\b$7"}
    assert _matched(["a", "b"], {"a", "other"}) == {"a": "a", "b": "other"}
    assert _matched(["a", "b"], {"a"}) == {"a": "a"}  # b is a constant
    with pytest.raises(ValueError, match=r"ports \['other'\] .* members \['b', 'c'\]"):
        _matched(["a", "b", "c"], {"a", "other"})
