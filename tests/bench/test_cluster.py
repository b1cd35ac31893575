"""The plan for a cluster: costs that are linear are found again, and predict what was not measured."""

from dataclasses import replace

import pytest

from rectifact.bench.cluster import HOPS, KINDS, Cluster, Size, checked, constants_of, planned
from rectifact.bench.scaling import CASES, COMMANDS, grown, threaded


def costs(kind, size):
    """Exact costs of a made-up fit."""
    return {
        "worker_s": 3e-9 * kind.units(size) + 0.002 * size.chunks,
        "coordinator_s": 0.01 + 0.001 * size.chunks,
        "bytes": 5e3 + 4e3 * size.chunks + HOPS * kind.state(size),
        "once_s": 2e-6 * size.n + 1e-4 * kind.pieces(size),
        "once_coordinator_s": 5e-5 * kind.pieces(size),
        "passes": 7,
        "MB": 30 + 1e-4 * size.n,
    }


@pytest.mark.parametrize("name", KINDS)
def test_linear_costs_are_found_and_predicted(name):
    kind, sizes = KINDS[name]
    known = constants_of(kind, [(size, costs(kind, size)) for size in sizes[:3]])
    expected = {"ns_per_unit": 3, "worker_ms_per_chunk": 2, "coordinator_ms": 10, "coordinator_ms_per_chunk": 1}
    expected |= {"kB_moved": 5, "kB_moved_per_chunk": 4, "once_us_per_row": 2, "passes": 7}
    expected |= {"worker_MB": 30, "bytes_held_per_row": 100}
    assert {key: known[key] for key in expected} == pytest.approx(expected)
    for row in checked(kind, known, sizes[3], costs(kind, sizes[3])):
        assert row["ratio"] == pytest.approx(1)


def test_twice_the_machines_halve_the_computing_and_not_the_rest():
    kind, sizes = KINDS["NMD"]
    known = constants_of(kind, [(size, costs(kind, size)) for size in sizes[:3]])
    one, two = (planned(kind, known, Cluster(machines=n)) for n in (100, 200))
    assert two["computing_s"] == pytest.approx(one["computing_s"] / 2)
    assert two["scheduling_s"] == one["scheduling_s"]
    assert one["fit_min"] / 2 < two["fit_min"] < one["fit_min"]
    wide = replace(kind, planned=Size(10**7, 10**7, 800))
    assert planned(wide, known, Cluster())["worker_GB"] > one["worker_GB"]


def test_a_command_and_an_estimator_are_measured_at_two_sizes(tmp_path):
    assert {"rectifact labels", "DawidSkene", "NMD", "SymNMF"} <= CASES.keys()
    (row,) = grown(["MajorityVote"], 10)
    assert row["n"] == CASES["MajorityVote"][0] // 10
    assert row["cpu_s_tenfold"] > row["cpu_s"] > 0
    assert row["MB_tenfold"] > row["MB"]


def test_a_command_is_measured_with_default_threads_and_with_one():
    row = threaded("rectifact cluster", 10)
    assert row["n"] == COMMANDS["rectifact cluster"][0]
    assert row["ratio"] == row["default_s"] / row["one_thread_s"]
    assert min(row["default_s"], row["one_thread_s"]) > 0.1  # a whole process
