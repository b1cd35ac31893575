"""Groups of points that stand apart: their number is that of the planted ones, and none in noise."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_digits, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from rectifact import InputError, SymNMF
from rectifact.core.errors import FitWarning
from rectifact.graph.distances import points_of
from rectifact.graph.gaps import divisions
from rectifact.graph.hidden_groups import groups_in_columns
from rectifact.graph.knn import nearest
from rectifact.graph.peaks import density_neighbours, prominences, shape_of_density
from rectifact.metrics import cluster_accuracy
from rectifact.selection import select
from rectifact.selection.points import NOTHING, choose_for_points


def slow_prominences(heights: Any, graph: Any, floor: float) -> list[float]:
    """From the definition: how far one has to go down from each peak to reach a higher node."""
    found = []
    for node in range(len(heights)):
        if (heights[graph[[node]].indices] > heights[node]).any():
            continue  # not a peak
        level = floor
        for height in sorted(heights, reverse=True):
            kept = np.flatnonzero(heights >= height)
            if node in kept:
                part = connected_components(graph[kept][:, kept])[1]
                reached = kept[part == part[np.flatnonzero(kept == node)[0]]]
                if heights[reached].max() > heights[node]:
                    level = height
                    break
        found.append(np.inf if heights[node] == heights.max() else heights[node] - level)
    return sorted(found)


@pytest.mark.parametrize("seed", range(6))
def test_prominences_equal_their_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    half = sp.random_array((40, 40), density=0.04, rng=rng, format="csr")
    heights, graph = rng.random(40), sp.csr_array(half + half.T)
    found, sizes = prominences(heights, graph, -1.0)
    assert np.allclose(np.sort(found), slow_prominences(heights, graph, -1.0))
    assert sizes.min() >= 1
    assert sizes.max() == 40


def rings(rng: np.random.Generator) -> Any:
    angle, radius = rng.random(900) * 2 * np.pi, np.repeat([1, 2, 3], 300)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + rng.normal(0, 0.08, (900, 2))


PLANTED = {
    "blobs": (make_blobs(500, 2, centers=5, cluster_std=0.6, random_state=4)[0], 5),
    "many blobs": (make_blobs(1200, 10, centers=12, cluster_std=1.5, random_state=1)[0], 12),
    "moons": (make_moons(500, noise=0.06, random_state=0)[0], 2),
    "circles": (make_circles(500, noise=0.05, factor=0.5, random_state=0)[0], 2),
    "rings": (rings(np.random.default_rng(111)), 3),
    "stretched": (make_blobs(500, random_state=170)[0] @ [[0.6, -0.6], [-0.4, 0.8]], 3),
    "few": (np.concatenate([np.random.default_rng(0).normal(at, 1, (8, 2)) for at in (0, 8, -9)]), 3),
}


@pytest.mark.parametrize("name", PLANTED)
def test_groups_that_were_planted_are_counted(name: str) -> None:
    X, k = PLANTED[name]
    found = select(SymNMF(random_state=0), X, random_state=0)
    assert found.best == k, found.table
    assert found.reason.startswith(f"{k} groups")
    assert (found.table["score"] > 1).sum() == k - 1
    assert found.estimator.stability_.shape == (k,)


@pytest.mark.parametrize("kind", ["square", "cube", "normal", "many dimensions", "counts", "few"])
def test_noise_has_no_groups(kind: str) -> None:
    rng = np.random.default_rng(5)
    X = {
        "square": rng.random((500, 2)),
        "cube": rng.random((500, 3)),
        "normal": rng.normal(size=(500, 2)),
        "many dimensions": rng.normal(size=(500, 20)),
        "counts": rng.poisson(3, (300, 6)),
        "few": rng.normal(size=(30, 3)),
    }[kind]
    with pytest.warns(FitWarning, match=NOTHING):
        found = select(SymNMF(random_state=0), X, random_state=0)
    assert found.best == 1
    assert found.table.iloc[0]["k"] == 1


def test_points_that_are_the_same_many_times_are_groups_too() -> None:
    X = np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]], 40, axis=0)
    with warnings.catch_warnings(action="ignore"):
        assert select(SymNMF(random_state=0), X, random_state=0).best == 3


def test_digits_have_nine_groups_or_so() -> None:
    X, y = load_digits(return_X_y=True)
    found = select(SymNMF(random_state=0), X, random_state=0)
    assert 8 <= found.best <= 11
    assert cluster_accuracy(y, found.estimator.labels_) > 0.75


def test_a_range_is_kept_to() -> None:
    X = PLANTED["blobs"][0]
    with warnings.catch_warnings(action="ignore"):  # components that get no cluster
        low, high = (select(SymNMF(random_state=0), X, ks) for ks in ([2, 3], [7, 8]))
    assert (low.best, high.best) == (3, 7)
    assert low.reason.endswith("3 is the largest number that was asked for.")
    assert high.reason.endswith("7 is the smallest number that was asked for.")
    assert set(high.table["k"]) >= {5, 7}


def test_what_is_close_is_said() -> None:
    more = choose_for_points(np.array([np.inf, 3.0, 0.97, 0.94]), range(1, 9), 15)
    fewer = choose_for_points(np.array([np.inf, 3.0, 1.05]), range(1, 9), 15)
    assert (more.best, more.sure, fewer.best, fewer.sure) == (2, False, 3, False)
    assert "4 would be nearly as likely: 2 more almost stand apart." in more.reason
    assert "2 would be nearly as likely: one of them hardly stands apart." in fewer.reason


@pytest.mark.parametrize("seed", [0, 1])
def test_columns_without_groups_do_not_make_few_groups_sure(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = rng.choice([0.0, 5.5], (400, 2))
    X = np.hstack([2.5 * rng.normal(size=(400, 6)), rng.normal(size=(400, 2)) + ends])
    with warnings.catch_warnings(action="ignore"):  # where no group is found
        found = select(SymNMF(random_state=0), X, random_state=0)
    assert found.best < 4
    assert not found.sure
    assert "in columns 7 and 8 alone, 4 groups stand apart" in found.reason
    assert "-k 4" in found.reason
    assert 4 in found.table["k"].tolist()


def test_single_columns_of_noise_show_no_groups() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        for noise in (
            rng.random((200, 6)),
            rng.normal(size=(200, 6)),
            rng.poisson(3, (200, 6)),
            rng.exponential(1, (200, 6)),
        ):
            assert groups_in_columns(np.asarray(noise, dtype=float)) == ([], 1)


def test_few_points_have_few_neighbours() -> None:
    assert [density_neighbours(n) for n in (2, 10, 100, 10_000)] == [1, 2, 10, 15]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_hardly_any_points_are_no_structure(n: int) -> None:
    with warnings.catch_warnings(action="ignore"):
        assert select(SymNMF(random_state=0), np.arange(2.0 * n).reshape(n, 2)).best == 1


def test_auto_as_a_parameter_names_what_chooses() -> None:
    with pytest.raises(InputError, match=r"rectifact\.selection\.select\(SymNMF\(\), X\)"):
        SymNMF("auto").fit(PLANTED["blobs"][0])


def test_the_columns_that_show_groups_come_before_another_number():
    from rectifact.selection.points import _hidden

    said = _hidden(1, [0, 1], 4)
    assert "in columns 1 and 2 alone, 4 groups stand apart" in said
    assert said.endswith(
        "Keep these alone (on the command line by name, with --columns), or compare with -k 4 (n_clusters in Python)."
    )


def uneven(sizes: list[int], apart: float, n_columns: int, seed: int) -> tuple[Any, Any]:
    """Round groups of unequal sizes, and which point is in which."""
    kinds = np.repeat(range(len(sizes)), sizes)
    corners = apart * np.eye(n_columns)[: len(sizes)] / 2**0.5 if n_columns > 2 else apart * np.array(CORNERS)
    return np.random.default_rng(seed).normal(size=(len(kinds), n_columns)) + corners[kinds], kinds


CORNERS = [[0, 0], [1, 0], [0, 1], [1, 1]]


@pytest.mark.parametrize("sizes", [[11, 8, 5], [14, 9, 6, 4], [30, 20, 5]], ids=str)
@pytest.mark.parametrize(("apart", "n_columns"), [(9.0, 2), (13.0, 23)])
def test_small_groups_beside_larger_ones_are_counted(sizes: list[int], apart: float, n_columns: int) -> None:
    for seed in range(3):
        X, kinds = uneven(sizes, apart, n_columns, seed)
        found = select(SymNMF(random_state=0), X, random_state=0)
        assert found.best == len(sizes) or not found.sure
        assert found.best <= len(sizes)
        model = SymNMF(len(sizes), random_state=0).fit(X)
        assert adjusted_rand_score(kinds, model.labels_) > 0.9
        assert "no group of points stands apart" not in [each.finding for each in model.findings()]


@pytest.mark.parametrize("seed", range(4))
def test_sectors_of_unequal_size_are_counted_by_the_correlations_of_their_members(seed: int) -> None:
    rng, kinds = np.random.default_rng(seed), np.repeat([0, 1, 2], [11, 8, 5])
    observed = 0.8 * rng.normal(size=(300, 3))[:, kinds] + 0.7 * rng.normal(size=(300, 24))
    X = points_of(np.sqrt(2 - 2 * np.corrcoef(observed.T).clip(-1, 1)))
    found = select(SymNMF(random_state=0), X, random_state=0)
    assert (found.best, found.sure) == (3, True)
    assert adjusted_rand_score(kinds, found.estimator.labels_) == 1


def test_small_clouds_without_groups_have_no_wide_gaps() -> None:
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        for n in (10, 24, 60, 140):
            for X in (
                rng.random((n, 2)),
                rng.normal(size=(n, 3)),
                rng.normal(size=(n, 20)),
                rng.exponential(1, (n, 5)),
                rng.integers(1, 6, (n, 3)).astype(float),
            ):
                near = nearest(X, 2, None, None).data.reshape(n, 2)
                found += any(each.score > 1 for each in divisions(X, shape_of_density(np.sqrt(near))[1]))
    assert found <= 3


def test_a_compact_division_without_a_wide_gap_is_named_and_not_taken() -> None:
    X = uneven([14, 9, 6, 4], 5.5, 2, 1)[0]
    with warnings.catch_warnings(action="ignore"):
        found = select(SymNMF(random_state=0), X, random_state=0)
    assert found.best < 4
    assert not found.sure
    assert "Average linkage makes 4 compact groups (mean silhouette 0." in found.reason
    assert found.reason.endswith("Compare with -k 4 (n_clusters in Python).")
    assert 4 in found.table["k"].tolist()
    model = SymNMF(4, random_state=0).fit(X)
    assert "no group of points stands apart" not in [each.finding for each in model.findings()]


def test_the_order_of_a_small_table_does_not_matter() -> None:
    X = uneven([11, 8, 5], 9.0, 2, 3)[0].round(1)
    order = np.random.default_rng(0).permutation(len(X))
    with warnings.catch_warnings(action="ignore"):
        one, other = (select(SymNMF(random_state=0), rows, random_state=0) for rows in (X, X[order]))
    assert one.reason == other.reason
