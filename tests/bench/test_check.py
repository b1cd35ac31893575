import pytest

from rectifact.bench.check import LIMITS, PARAMETERS, compare


def one(**columns):
    """Tables with one row: a method on a data set."""
    return {"crowd": {"methods": [{"set": "rte", "method": "auto", **columns}]}}


def regressed(stored, measured):
    return [row["column"] for row in compare(one(**measured), one(**stored)).regressions]


@pytest.mark.parametrize(
    ("column", "stored", "passes", "fails"),
    [
        ("error_%", 7.0, 7.4, 7.6),  # half a percentage point
        ("error_%", 40.0, 40.7, 40.9),  # 2 %
        ("accuracy", 0.1, 0.096, 0.094),  # 0.005
        ("accuracy", 0.9, 0.883, 0.881),  # 2 %
        ("nmi", 0.9, 0.883, 0.881),
        ("relative_error", 0.8, 0.815, 0.817),
        ("rmse", 1e-7, 9e-5, 2e-4),  # exact, then no longer exact
        ("rmse_NMD", 0.06, 0.0611, 0.0613),
        ("log_likelihood", -1e-8, -9e-5, -2e-4),
        ("log_likelihood", -2.0, -2.03, -2.05),
        ("seconds", 1.0, 2.9, 3.1),  # three times as long
        ("seconds", 0.004, 0.05, 0.06),  # milliseconds say little
        ("s_per_iteration", 0.004, 0.0119, 0.0121),
        ("ns_per_edge", 10.0, 29.0, 31.0),
        ("peak_GB", 1.0, 1.4, 1.6),  # half as much again
        ("above_data_MB", 200, 290, 310),
    ],
)
def test_each_kind_of_figure_has_its_limit(column, stored, passes, fails):
    assert regressed({column: stored}, {column: passes}) == []
    assert regressed({column: stored}, {column: fails}) == [column]


@pytest.mark.parametrize("column", LIMITS)
def test_improvements_never_fail(column):
    better = -1e9 if LIMITS[column].better == "lower" else 1e9
    assert regressed({column: 0.5}, {column: better}) == []
    assert regressed({column: 0.5}, {column: -better}) == [column]


def test_a_regression_names_the_row_and_both_figures():
    stored = {"latent": {"scaling": [{"form": "tiles", "threads": n, "seconds_per_sweep": 0.5} for n in (1, 2)]}}
    measured = {"latent": {"scaling": [{"form": "tiles", "threads": n, "seconds_per_sweep": n} for n in (2, 1)]}}
    assert compare(measured, stored).regressions == [
        {
            "family": "latent",
            "table": "scaling",
            "row": "tiles, threads 2",
            "column": "seconds_per_sweep",
            "stored": 0.5,
            "measured": 2,
            "limit": 1.5,
        }
    ]


def test_unknown_columns_and_gaps_are_not_compared():
    assert regressed({"paper_%": 1.0, "ratio": 9.0}, {"paper_%": 50.0, "ratio": 0.1}) == []
    assert regressed({"seconds": None}, {"seconds": 100.0}) == []
    assert regressed({"seconds": 1.0}, {}) == []  # a column that is no longer measured, see below
    assert compare(one(ratio=1.0), one(ratio=1.0)).n_compared == 0


def test_a_column_that_is_no_longer_measured_is_mentioned():
    rows = [{"method": method, "error": 0.1, "seconds": 1.0, "ratio": 2.0} for method in "abc"]
    stored = {"parts": {"x": [*rows, {"method": "d", "rmse": float("nan")}]}}
    measured = {"parts": {"x": [{"method": method, "seconds": 1.0} for method in "abde"]}}
    found = compare(measured, stored)
    assert found.gone == [{"family": "parts", "table": "x", "column": "error", "rows": 2}]
    assert found.regressions == []
    assert compare(stored, stored).gone == []


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -float("inf"), None, "fast"])
def test_only_finite_figures_count_as_compared(odd):
    assert compare(one(seconds=1.0), one(seconds=odd)).n_compared == 0


@pytest.mark.parametrize("column", ["seconds", "accuracy"])
def test_a_measured_nan_is_worse(column):
    assert regressed({column: 0.5}, {column: float("nan")}) == [column]


def test_a_goal_that_is_no_longer_reached_is_worse():
    assert regressed({"seconds": 0.5}, {"seconds": None}) == ["seconds"]


def test_rows_in_one_result_only_are_mentioned_and_do_not_fail():
    def rows(*ranks):
        return [{"data": "dots", "rank": rank, "rmse": 0.1} for rank in ranks]

    measured = {"latent": {"rank": rows(4, 5), "new": rows(4)}, "parts": {"tdt2": []}}
    stored = {"latent": {"rank": rows(5, 8, 16), "old": rows(4)}, "crowd": {"methods": rows(4)}}
    found = compare(measured, stored)
    assert found.regressions == []
    assert found.n_compared == 1
    assert found.unmatched == [
        {"family": "latent", "table": "rank", "only measured": 1, "only stored": 2},
        {"family": "latent", "table": "new", "only measured": 1, "only stored": 0},
        {"family": "latent", "table": "old", "only measured": 0, "only stored": 1},
    ]


def test_rows_with_different_parameters_are_different_rows():
    for parameter in PARAMETERS:
        found = compare(one(error=1.0, **{parameter: 10}), one(error=0.1, **{parameter: 20}))
        assert (found.n_compared, len(found.unmatched)) == (0, 1), parameter


def test_measured_text_does_not_identify_rows():
    assert regressed({"recovered": "100 100", "error": 0.1}, {"recovered": "98 100", "error": 0.2}) == ["error"]


def test_rows_that_look_alike_are_compared_in_their_order():
    stored = {"parts": {"x": [{"method": "a", "error": 1.0}, {"method": "a", "error": 2.0}]}}
    assert compare(stored, stored).n_compared == 2
    assert compare(stored, stored).regressions == []
    swapped = {"parts": {"x": stored["parts"]["x"][::-1]}}
    assert [row["measured"] for row in compare(swapped, stored).regressions] == [2.0]


def test_a_result_equals_itself_and_is_not_changed():
    stored = one(seconds=0.1, accuracy=0.9)
    compare(stored, stored)
    assert stored == one(seconds=0.1, accuracy=0.9)
