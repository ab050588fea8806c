"""Reports of long runs are kept whole in what counts, and only if they name their commit."""

import pytest
from record import digest

COMMIT = {"revision": "0123456789ab"}
MUTANTS = {
    "left_out": 0,
    "kills": {"fuzz": 1},
    "results": [
        {"operator": "stuck", "verdict": "killed"},
        {"operator": "stuck", "verdict": "survived"},
    ],
}


def entry(opcode, reason, count, memory="-"):
    return {
        "opcode": opcode,
        "reason": reason,
        "types": "-",
        "memory": memory,
        "aliasing": "-",
        "count": count,
    }


@pytest.mark.parametrize("commit", [{}, {"revision": None}, {"revision": "0123456789ab-dirty"}])
def test_a_report_without_a_commit_is_refused(commit):
    with pytest.raises(ValueError, match="names no commit"):
        digest({**MUTANTS, **commit})


def test_another_file_is_refused():
    with pytest.raises(ValueError, match="no report of"):
        digest({**COMMIT, "seed": 0})


def test_a_campaign_that_ran_out_of_time_is_refused():
    with pytest.raises(ValueError, match="3 mutants were not tried"):
        digest({**MUTANTS, **COMMIT, "left_out": 3})


def test_mutants_that_were_not_killed_stay():
    name, kept = digest({**MUTANTS, **COMMIT})
    assert name == "mutants"
    assert kept["results"] == [{"operator": "stuck", "verdict": "survived"}]
    assert kept["operators"] == {"stuck": 2}


def test_bins_are_counted():
    coverage = {
        "bins": [
            entry("NOP", "NONE", 5),
            entry("NOP", "LENGTH", 2),
            entry("BACK_PROP", "NONE", 3, memory="SBUF,SBUF->PSUM"),
            entry("BACK_PROP", "NONE", 4, memory="SBUF,PSUM->SBUF"),
        ],
        "missed": [entry("BACK_PROP", "NONE", 0)],
    }
    name, kept = digest({**COMMIT, "coverage": coverage})
    assert name == "fuzz"
    assert kept["coverage"]["bins"] == {
        "NOP": {
            "legal bins": 1,
            "legal instructions": 5,
            "illegal bins": 1,
            "illegal instructions": 2,
        },
        "BACK_PROP": {"legal bins": 2, "legal instructions": 7, "missed bins": 1},
    }
    assert kept["coverage"]["reason"] == {"NONE": 12, "LENGTH": 2}
    assert kept["coverage"]["memory"] == {"SBUF,SBUF->PSUM": 3, "SBUF,PSUM->SBUF": 4}
    assert kept["coverage"]["aliasing"] == {}


def test_a_backward_pass_keeps_what_the_table_shows():
    report = {
        **COMMIT,
        **{"bound_cycles": 10, "cycles": 12, "instructions": 3, "differing_bits": 0, "seconds": {}},
        **{"coefficients": "engine", "utilisation": {}, "mix": []},
        **{"config": {"lanes": 8}, "input": {"source": "random 2x3", "fuse_relu": True}},
    }
    name, kept = digest(report)
    assert name == "backward_random_2x3_relu"
    assert (kept["lanes"], kept["cycles"]) == (8, 12)
    assert "seconds" not in kept
    with pytest.raises(ValueError, match="3 bits differ"):
        digest({**report, "differing_bits": 3})


def test_a_training_keeps_the_ends_of_its_curves():
    curve = {
        "label": "PyTorch",
        "steps": 3,
        "seconds": 1.5,
        "loss": [3, 2, 1],
        "accuracy": [0.1, 0.2, 0.3],
    }
    report = {
        **COMMIT,
        **{"rtl_steps": 2, "differing_bits": 0, "seed": 0},
        "training": {"torch": {**curve, "deviation": [0, 0, 0]}},
    }
    name, kept = digest(report)
    assert name == "training"
    assert kept["training"]["torch"] == {
        **{"label": "PyTorch", "steps": 3, "seconds": 1.5},
        **{"loss": [3, 1], "accuracy": [0.1, 0.3], "deviation": [0, 0]},
    }
    with pytest.raises(ValueError, match="5 bits differ"):
        digest({**report, "differing_bits": 5})
    with pytest.raises(ValueError, match="the RTL took no step"):
        digest({**report, "rtl_steps": 0})
