"""Charts as SVG: marks stand where their values say, names are text, and a file needs nothing else."""

import base64
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rectifact import InputError
from rectifact.crowd.panel_rates import Rates
from rectifact.crowd.quantity import Quantity
from rectifact.crowd.rate_tables import DIFFERENCE_COLUMNS, RATE_COLUMNS
from rectifact.report import Chart
from rectifact.report.blocks import Table
from rectifact.report.charts import bars, heat_map, histogram, lines, network, ranges, scatter, scores
from rectifact.report.frames import frame_of
from rectifact.report.html import _cell
from rectifact.report.marks import Axis, Points
from rectifact.report.pixels import png_address
from rectifact.report.rates import rates_report
from rectifact.report.scales import cut, labels, ticks, width_of, written
from rectifact.report.svg import NARROW, WIDE

SVG = "{http://www.w3.org/2000/svg}"
ODD = ["<script>alert(1)</script>", "a&b\"'", "\u202eright to left", "x" * 5000, "水" * 40, "w\ud800\x07", ""]


def tree(chart):
    return ET.fromstring(chart._document())


def circles(chart):
    found = [mark for mark in tree(chart).iter(f"{SVG}circle") if mark.find(f"{SVG}title") is not None]
    return np.array([[float(mark.get("cx")), float(mark.get("cy"))] for mark in found])


def all_kinds(names):
    rng = np.random.default_rng(0)
    n = len(names)
    values = rng.random(n)
    places = rng.random((n, 2))
    edges = np.array([[0, n - 1]])
    return [
        histogram("h", values, "x"),
        bars("b", names, values, "y", "w"),
        ranges("r", names, values, values - 0.1, values + 0.1, "y", "w", range(n)),
        lines("l", {name: (range(3), values[:3]) for name in names}, "x", "y", "w"),
        scores("s", range(1, n + 1), values, values / 9, 2, "x", "y", "w"),
        scatter("c", places, names, ["x", "y"], "w"),
        network("n", places, edges, range(n), names, "w"),
        heat_map("m", rng.random((n, n)), "x", names, "w"),
    ]


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_names_are_text_and_documents_are_well_formed(width):
    for chart in all_kinds(ODD):
        root = ET.fromstring(chart.svg(width))
        assert root.tag == "svg"
        assert not [part for part in root.iter() if part.tag in ("script", "img")]
        assert root.get("role") == "img"
        assert root.get("aria-label").startswith(f"{chart.title}. ")
        assert "x" * 1000 not in chart.svg(width)
        document = tree(chart)
        assert document.find(f".//{SVG}title").text == chart.title
        assert document.find(f".//{SVG}desc").text == chart.words


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_nothing_leaves_the_frame(width):
    for chart in all_kinds([f"a name of some length, number {i}" for i in range(8)]):
        root = ET.fromstring(chart.svg(width))
        _, _, wide, high = map(float, root.get("viewBox").split())
        assert wide == width
        for mark in root.iter("circle"):
            assert 0 <= float(mark.get("cx")) <= wide
            assert 0 <= float(mark.get("cy")) <= high
        for mark in root.iter("text"):
            if mark.get("transform"):
                continue
            x, long = float(mark.get("x")), width_of(mark.text, 13)
            kind = mark.get("class", "")
            start = x - long * (1.0 if "rf-end" in kind else 0.5 if "rf-middle" in kind else 0.0)
            assert start >= -long * 0.1 - 3, mark.text
            assert start + long <= wide + long * 0.1 + 3, mark.text


def test_points_stand_where_their_values_say():
    """Pixels are an affine function of the values, or of their logarithms, with the y axis upwards."""
    x, y = np.array([1.0, 2.0, 4.0, 10.0]), np.array([3.0, -1.0, 2.0, 0.5])
    chart = lines("l", {"a": (x, y)}, "x", "y", "w")
    for shown, values in ((chart, x), (chart.with_x(log=True), np.log(x))):
        found = circles(shown)
        slope = np.diff(found[:, 0]) / np.diff(values)
        assert_allclose(slope, slope[0], rtol=0.01)
        assert slope[0] > 0
        slope = np.diff(found[:, 1]) / np.diff(y)
        assert_allclose(slope, slope[0], rtol=0.01)
        assert slope[0] < 0


def test_bars_are_as_long_as_their_values():
    names = ["a", "b", "c"], ["a name", "another", "third one"]
    upright, flat = (bars("b", own, [1, 2, 4], "y", "w") for own in names)
    for chart, side in ((upright, "height"), (flat, "width")):
        sizes = [float(mark.get(side)) for mark in tree(chart).iter(f"{SVG}rect")]
        assert_allclose(np.array(sizes) / sizes[0], [1, 2, 4], rtol=0.01)
    assert "<title>another: 2</title>" in flat.svg()


def test_ticks_stand_at_their_values():
    chart = lines("l", {"a": ([0, 100], [0.0, 1.0])}, "x", "y", "w").with_y(form="share")
    root = tree(chart)
    texts = {mark.text.strip("\u2068\u2069"): mark for mark in root.iter(f"{SVG}text")}
    points = circles(chart)
    assert_allclose(float(texts["100"].get("x")), points[1, 0], atol=0.2)
    assert_allclose(float(texts["100%"].get("y")), points[1, 1] + 4.5, atol=0.2)
    assert_allclose(float(texts["0%"].get("y")), points[0, 1] + 4.5, atol=0.2)


def test_intervals_reach_from_low_to_high():
    chart = ranges("r", ["a", "b"], [0.5, 0.2], [0.4, 0.1], [0.7, 0.6], "y", "w", [0, 1])
    (path,) = [mark.get("d") for mark in tree(chart).iter(f"{SVG}path") if mark.get("class") == "rf-range"]
    ends = np.array(re.findall(r"[ML]([\d.]+) ([\d.]+)", path), dtype=float).reshape(2, 2, 2)
    points = circles(chart)
    unit = (points[0, 0] - points[1, 0]) / 0.3
    assert_allclose(ends[:, :, 0], points[:, [0]] + unit * np.array([[-0.1, 0.2], [-0.1, 0.4]]), atol=0.2)
    assert_allclose(ends[:, :, 1], points[:, [1]].repeat(2, axis=1), atol=0.1)
    assert "a: 0.5, 0.4 to 0.7" in chart.svg()
    assert "a: 50.0%, 40.0% to 70.0%" in chart.with_y(form="share").svg()


def test_a_heat_map_has_its_first_row_at_the_top_and_a_colour_for_negative_values():
    chart = heat_map("m", np.array([[1.0, -0.5], [0.0, 0.25]]), "x", ["a", "b"], "w", span=(-1, 1))
    cells = {mark.find(f"{SVG}title").text: mark for mark in tree(chart).iter(f"{SVG}rect")}
    assert {text: mark.get("style") for text, mark in cells.items()} == {
        "a, a: 1": "fill-opacity:1.00",
        "a, b: −0.5": "fill-opacity:0.50",
        "b, a: 0": "fill-opacity:0.00",
        "b, b: 0.25": "fill-opacity:0.25",
    }
    assert "c1" in cells["a, b: −0.5"].get("class")
    assert float(cells["a, a: 1"].get("y")) < float(cells["b, a: 0"].get("y"))


def test_a_large_matrix_is_one_image():
    values = np.random.default_rng(0).random((120, 120))
    svg = heat_map("m", values, "nodes", (), "w").svg()
    assert svg.count("<rect") == 1
    assert len(svg) < 120_000
    address = re.search(r'href="data:image/png;base64,([^"]+)"', svg)[1]
    alpha = decoded(base64.b64decode(address))[..., 3]
    assert_allclose(alpha / 255, values / values.max(), atol=0.003)


def decoded(png):
    """Pixels of a PNG without filters, read by hand."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    place, chunks = 8, {}
    while place < len(png):
        size, kind = struct.unpack(">I4s", png[place : place + 8])
        body = png[place + 8 : place + 8 + size]
        assert struct.unpack(">I", png[place + 8 + size : place + 12 + size])[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        place += 12 + size
    width, height, depth, colours = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert depth == 8
    channels = {0: 1, 2: 3, 6: 4}[colours]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(height, 1 + width * channels)
    assert (rows[:, 0] == 0).all()
    return rows[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_images_hold_their_pixels(rng, channels):
    pixels = rng.integers(0, 256, (5, 7, channels)).astype(np.uint8)
    address = png_address(pixels).removeprefix("data:image/png;base64,")
    assert (decoded(base64.b64decode(address)) == pixels).all()


def test_gaps_and_no_data_are_drawn_as_such():
    chart = lines("l", {"a": (range(5), [1.0, np.nan, 2.0, 3.0, np.inf])}, "x", "y", "w")
    (path,) = [mark.get("d") for mark in tree(chart).iter(f"{SVG}path") if "rf-line" in mark.get("class")]
    assert re.sub("[^ML]", "", path) == "MML"
    assert "nan" not in chart.svg()
    assert "inf" not in chart.svg()
    for empty in (bars("b", [], [], "y", "w"), lines("l", {}, "x", "y", "w"), Chart("e", [], "w")):
        assert tree(empty) is not None
    assert tree(lines("l", {"a": ([1], [7.0])}, "x", "y", "w")) is not None


def test_a_chart_is_a_file_and_a_cell_of_a_notebook(tmp_path):
    chart = bars("Fruit", ["apples", "pears"], [3, 5], "baskets", "More pears.")
    chart.save(tmp_path / "fruit.svg")
    text = (tmp_path / "fruit.svg").read_text(encoding="utf-8")
    assert text.count("http") == 1  # the name space
    assert "prefers-color-scheme:dark" in text
    with pytest.raises(InputError, match="there is no folder"):
        chart.save(tmp_path / "none" / "fruit.svg")
    shown = chart._repr_html_()
    assert "<svg" in shown
    assert "More pears." in shown


def test_colours_of_points_and_legend():
    marks = [Points(np.zeros(1), np.zeros(1), ["p"], [number], name=f"kind {number}") for number in (0, 1, -1)]
    svg = Chart("c", marks, "w", Axis(hidden=True), Axis(hidden=True)).svg()
    assert [svg.count(f'class="{kind}"') for kind in ("c0", "c1", "c-none")] == [2, 2, 2]  # a point and its entry
    assert "kind 1" in svg
    assert "kind 0" not in Chart("c", marks[:1], "w").svg()  # one needs no legend
    faint = [replace(marks[0], shade=0.25), replace(marks[0], shade=0.5)]
    svg = Chart("c", faint, "w", Axis(hidden=True), Axis(hidden=True)).svg()
    assert [svg.count(f"fill-opacity:{shade}") for shade in ("0.25", "0.50")] == [2, 2]


@given(
    low=st.floats(-1e6, 1e6), size=st.floats(1e-6, 1e6), most=st.integers(2, 10), log=st.booleans(), whole=st.booleans()
)
def test_ticks_are_few_and_inside(low, size, most, log, whole):
    low = abs(low) + 1e-3 if log else low
    high = low + size
    if not high > low:
        return
    found = ticks(low, high, most, log=log, whole=whole)
    room = 1e-6 * (high - low) + 1e-9 * abs(high)
    assert all(low - room <= tick <= high + room for tick in found)
    assert len(found) <= 2 * most + 1
    assert found == sorted(set(found))
    if whole and not log:
        assert all(tick == round(tick) for tick in found)


def test_numbers_as_people_write_them():
    assert [written(value) for value in (0.0, 0.1, 1234567.0, -2.5, 1e-6, 2e9, np.nan)] == [
        *("0", "0.1", "1,234,600", "−2.5", "10⁻⁶", "2·10⁹", "–")
    ]
    shares = [written(0.125, "share", step) for step in (0.25, 0.05, 0.005, 0.0005)]
    assert shares == ["12%", "12%", "12.5%", "12.50%"]
    assert labels([12345.61, 12345.62], "number") == ["12,345.61", "12,345.62"]
    assert written(-0.05, "share") == "−5%"
    assert cut("short", 13, 100) == "short"
    assert width_of(cut("a long name " * 9, 13, 100), 13) <= 113


@pytest.mark.parametrize("share", [0.622451, 0.36250000000000004])
def test_shares_are_rounded_once(share):
    found = Rates(
        pd.DataFrame([dict.fromkeys(RATE_COLUMNS, share) | {"group": "v1", "tasks": 9, "labels": 9}]),
        pd.DataFrame(columns=DIFFERENCE_COLUMNS),
        ("pass",),
        0.95,
        None,
        Quantity.share(("pass",)),
    )
    blocks = [block for section in rates_report(found).sections for block in section.blocks]
    table = next(block for block in blocks if isinstance(block, Table) and block.title == "Rates")
    assert [_cell(value, "share") for value in table.rows[0][1:8]] == [f"{share:.1%}"] * 7  # as in the sentences
    assert "62.4%" in ranges("m", ["a"], [0.62447], [0.5], [0.7], "share", "w", [0]).with_y(form="share").svg()


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_row_and_column_of_a_small_matrix_has_its_name(width):
    names = ["gemini_flash", "gemini_pro", "gpt-4o", "llama-31", "gpt-4o-mini", "mistral-v03"]
    frame = frame_of(heat_map("Pairs", np.eye(6), "worker", names, "Pairs."), width, 0)
    assert all(text for _, text in [*frame.across_ticks, *frame.down_ticks])


def test_small_matrices_are_small():
    heights = [
        frame_of(heat_map("M", np.eye(n), "x", list("abcdefghijklmno"[:n]), ""), WIDE, 0).height for n in (5, 15)
    ]
    assert heights[0] < 320 < heights[1]


def test_zero_is_marked_where_it_parts_the_values():
    both = ranges("Bias", ["a", "b"], [-3, 4], [-5, 2], [-1, 6], "points", "", [0, 0]).svg()
    one_side = ranges("Bias", ["a", "b"], [3, 4], [2, 2], [5, 6], "points", "", [0, 0]).svg()
    only_margin = lines("Loss", {"loss": (np.arange(1, 200), np.ones(199))}, "iteration", "loss", "").svg()
    assert [drawn.count("rf-zero") for drawn in (both, one_side, only_margin)] == [1, 0, 0]


def test_a_bar_with_a_name_is_not_as_wide_as_the_chart_and_empty_ones_are_not_seen():
    (wide,) = re.findall(r'<rect [^>]*width="([0-9.]+)"', bars("Sizes", ["1"], [34], "nodes", "").svg())
    assert float(wide) <= 90
    found = histogram("Confidence", [0.9] * 5, "confidence", span=(0, 1))
    assert found.svg().count("fill-opacity:0") == 19
    assert found.words == "5 values; 5 of them from 90% to 95%."


def test_bold_names_do_not_overlap():
    """Two names of nine letters whose bold forms, but not whose plain ones, touch."""
    places = np.array([[0.0, 0.0], [1.25, 0.0], [9.5, 0.0], [0.0, 9.0]])
    chart = network("G", places, np.array([[0, 1]]), [0] * 4, list("abcd"), "", named={0: "member 32", 1: "member 15"})
    x, y = np.array(re.findall(r'rf-label" x="([0-9.]+)" y="([0-9.]+)"', chart.svg()), dtype=float).T
    assert abs(x[0] - x[1]) > 75 or abs(y[0] - y[1]) > 13


def test_numbers_of_things_have_whole_ticks():
    for high in (7, 16, 19, 36, 90, 400, 3000):
        found = ticks(1, high, 8, whole=True)
        assert len(found) > 1
        assert all(tick % 1 == 0 for tick in found)
        assert str(int(found[1] - found[0])).rstrip("0") in {"1", "2", "5", "25"}


def test_percent_signs_have_room():
    assert width_of("100%", 13) >= 34  # 37 in DejaVu Sans, the widest of the usual fonts
