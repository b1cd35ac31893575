"""Spectra are described by their peaks; numbered items, which are no curve, by their largest features."""

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from rectifact.cli.commands import app
from rectifact.parts.peaks import are_curves, peaks


def bumps(axis, *places):
    return sum(height * np.exp(-(((axis - place) / 12.0) ** 2)) for place, height in places)


def test_peaks_by_height_with_noise_between_them():
    axis = np.arange(400.0, 700.0)
    noise = 0.01 * np.random.default_rng(0).standard_normal(len(axis))
    found = axis[peaks(bumps(axis, (450, 0.5), (520, 1.0), (640, 0.3)) + noise)]
    np.testing.assert_allclose(found, [520, 450, 640], atol=4)


def test_the_largest_value_is_always_the_first_peak():
    rng = np.random.default_rng(1)
    for _ in range(200):
        part = rng.random(rng.integers(2, 40)).cumsum() * rng.choice([-1.0, 1.0]) + rng.random()
        assert peaks(part)[0] == part.argmax()


def test_numbered_items_are_no_curve():
    rng = np.random.default_rng(2)
    assert not are_curves(rng.gamma(0.3, size=(5, 200)))
    assert are_curves(np.stack([bumps(np.arange(200.0), (60, 1.0)), bumps(np.arange(200.0), (140, 1.0))]))
    assert not are_curves(np.ones((2, 30)))


def test_the_command_names_peaks_of_spectra_and_the_largest_of_items(tmp_path):
    rng = np.random.default_rng(3)
    axis = np.arange(400, 600, 2)
    parts = np.stack([bumps(axis, (440, 1.0), (560, 0.4)), bumps(axis, (500, 1.0))])
    weights = rng.dirichlet([0.5, 0.5], size=80)
    for name, H in {"spectra": parts, "items": rng.permutation(parts, axis=1)}.items():
        X = np.maximum(weights @ H + 0.005 * rng.standard_normal((80, len(axis))), 0)
        pd.DataFrame(X, columns=axis).to_csv(tmp_path / f"{name}.csv", index=False)
        command = ["parts", f"{tmp_path / name}.csv", "-k", "2", "--header", "--features", f"{tmp_path / name}_top.csv"]
        run = CliRunner().invoke(app, [*command, "--report", f"{tmp_path / name}.html"])
        assert run.exit_code == 0, run.output
        assert ("peaks (values)" in run.output) == (name == "spectra")
        assert ("with the peaks of each" in (tmp_path / f"{name}.html").read_text()) == (name == "spectra")
    top = pd.read_csv(tmp_path / "spectra_top.csv")
    found = [sorted(own.iloc[:, 2].tolist()) for _, own in top.groupby("part")]
    for own, true in zip(sorted(found, key=len), [[500], [440, 560]], strict=True):
        np.testing.assert_allclose(own, true, atol=6)
    assert (pd.read_csv(tmp_path / "items_top.csv").groupby("part").size() >= 5).all()
