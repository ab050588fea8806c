"""The report of the main job: complete, readable by machines, self-contained."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from dve_cosim.figures import power, short
from dve_cosim.main_job import run_main_job
from dve_cosim.main_result import GradientErrors, Workload
from dve_cosim.plots import ulp_histogram
from dve_cosim.report import as_json, report_files
from dve_golden.batchnorm import Layer, backward
from dve_golden.isa.enums import Dtype
from dve_rtl.config import EngineConfig

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def result(golden_runner):
    rng = np.random.default_rng(13)
    x, dy = rng.normal(size=(2, 8, 3))
    layer = Layer.from_arrays(dy, x, x.mean(axis=0), np.ones(3), inv_std=np.ones(3))
    workload = Workload("a <b>.npz", layer, backward(**layer.arguments()), -21)
    config = EngineConfig(sbuf_bytes=1024, psum_bytes=256)
    return run_main_job(workload, config=config, run=golden_runner)


def test_json_has_every_figure(result):
    document = json.loads(as_json(result))
    assert document["differing_bits"] == 0
    assert document["instructions"] == len(document["timeline"]) == 8
    assert document["cycles"] == sum(entry["cycles"] for entry in document["timeline"]) == 80
    assert document["coefficients"] == "engine"
    assert sum(share["cycles"] for share in document["mix"]) == 80
    assert {"name": "tensor_tensor", "count": 5, "cycles": 50} in document["mix"]
    assert document["bound_cycles"] == 16
    assert document["utilisation"]["acc2"] == round(8 / 80, 4)
    assert document["elements_per_lane_cycle"] == result.elements_per_lane_cycle
    assert set(document["ulp"]) == {"d_x", "d_gamma", "d_beta"}
    assert set(document["ulp"]["d_x"]) == {"format", "max", "p99.9"}
    assert document["relative_error"]["d_x"]["log2"] < document["relative_error_bound_log2"] == -21
    assert document["framework"]["ulp"] == document["ulp"]
    assert document["input"]["shape"] == [8, 3]
    assert document["config"]["lanes"] == 8
    assert {"golden", "build", "simulate", "compare", "total"} <= set(document["seconds"])


def test_json_stays_json_where_figures_are_not_finite(result):
    wrong = GradientErrors(Dtype.FP32, np.array([np.inf, 0.0]), np.inf)
    document = json.loads(as_json(replace(result, errors={"d_x": wrong})))
    assert document["ulp"]["d_x"]["max"] is None
    assert document["relative_error"]["d_x"] == {
        "relative_to": "|gamma| inv_std max|dy|",
        "max": None,
        "log2": None,
    }


def test_page_needs_only_the_files_beside_it(result):
    files = report_files(result)
    page = files["index.html"].decode()
    linked = set(re.findall(r'(?:src|href)="([^"]*)"', page))
    assert linked == set(files) - {"index.html"}
    assert "a &lt;b&gt;.npz" in page
    assert "agree in every bit" in page
    assert "<tr><td>tensor_tensor<td>5<td>50<td>62.5%" in page
    assert [name for name, data in files.items() if data.startswith(PNG)] == [
        "ulp_d_x.png",
        "ulp_d_gamma.png",
        "ulp_d_beta.png",
        "timeline.png",
    ]


def test_page_names_what_differs(result):
    page = report_files(
        replace(result, differing_bits=3, first_differences=["batch 0: sbuf[1, 2]: got <x>"])
    )["index.html"].decode()
    assert "3 bits differ" in page
    assert "sbuf[1, 2]: got &lt;x&gt;" in page
    assert "agree in every bit" not in page


def test_histogram_counts_every_element_once():
    ulp = np.array([0, 0, 2.0**-10, 0.0625, 0.5, 0.99, 1, 1.5, 7, np.inf])
    labels, (counts,) = ulp_histogram([ulp])
    assert sum(counts) == len(ulp)
    assert dict(zip(labels, counts, strict=True)) == {
        "exact": 2,
        "<$2^{-4}$": 1,
        "$2^{-4}$": 1,
        "$2^{-3}$": 0,
        "$2^{-2}$": 0,
        "$2^{-1}$": 2,
        "$2^{0}$": 2,
        "$2^{1}$": 0,
        "$2^{2}$": 1,
        "inf": 1,
    }


def test_histograms_share_their_bins():
    labels, counts = ulp_histogram([np.array([1.0]), np.array([4.0, 0.0])])
    assert labels[-1] == "$2^{2}$"
    assert [sum(each) for each in counts] == [1, 2]
    assert len(counts[0]) == len(counts[1]) == len(labels)


def test_percentile_is_an_error_that_occurs():
    ulp = np.concatenate([np.zeros(998), [3.0, 5.0]])
    errors = GradientErrors(Dtype.FP32, ulp, 0.0)
    assert (errors.max_ulp, errors.p999_ulp) == (5.0, 3.0)
    assert GradientErrors(Dtype.FP32, np.array([1.0, np.inf]), 0.0).p999_ulp == np.inf


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.5, "0.5"),
        (12.34, "12.3"),
        (14329.6, "14,330"),
        (1.7e9, "1.70e+09"),
        (2.0**-20, "9.54e-07"),
        (np.inf, "inf"),
    ],
)
def test_short_figures(value, text):
    assert short(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(2.0**-21, "2^-21.0"), (0.0, "0"), (np.inf, "inf"), (3.0, "2^1.6")]
)
def test_powers_of_two(value, text):
    assert power(value) == text
