"""The report in a real browser: Debian's Chromium, headless, driven by playwright."""

import shutil
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from rectifact import ANDNMF, NMD, DawidSkene, SymNMF
from rectifact.core.findings import SEVERITIES
from rectifact.datasets import load_crowd, make_block_model, make_topics
from rectifact.models import SavedModel
from rectifact.report import report_of, write_report
from rectifact.report.blocks import Column, Findings, Report, Section, Table
from rectifact.report.html import _cell
from rectifact.selection import select

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def report_path(tmp_path_factory):
    """All four families in one page, with odd names among the workers."""
    answers = load_crowd("anaesthetists").answers
    answers = answers.assign(
        worker=answers["worker"].map(
            {1: "<script>alert(1)</script>", 2: "=cmd()", 3: "\u05d0\u05d1", 4: "d" * 400, 5: "e"}
        )
    )
    mixtures = make_topics("dir", n_samples=200, n_features=30, n_topics=4).X
    digits = load_digits().data[:100] / 16
    graph = make_block_model(100, 3, degree=20).adjacency
    models = [
        DawidSkene().fit(answers),
        SavedModel(ANDNMF(4, random_state=0).fit(mixtures), X=mixtures),
        SavedModel(NMD(8, max_iter=30).fit(digits), X=digits, image_shape=(8, 8)),
        SymNMF(3, affinity="precomputed", n_init=2, random_state=0).fit(graph),
    ]
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report([report_of(model) for model in models], path, title="Tests")
    return path


@pytest.fixture
def opened(browser, report_path):
    """Function that opens the page in a colour scheme; in the end no page may have reported an error."""
    wrong, pages = [], []

    def open_page(scheme="light", width=1200):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append("a dialog opened"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else wrong.append(request.url),
        )
        page.goto(report_path.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert wrong == []


def column(page, table, place):
    return [cell.inner_text() for cell in page.query_selector_all(f"{table} tbody tr td:nth-child({place})")]


def test_tables_sort_search_and_turn_pages(opened):
    page = opened()
    table = "#table1-3-1"  # tasks by uncertainty
    assert column(page, table, 1)[:2] == ["3", "7"]
    head = page.locator(f"{table} th button").first
    head.click()
    assert column(page, table, 1)[:3] == ["1", "2", "3"]
    assert page.get_attribute(f"{table} th:first-child", "aria-sort") == "ascending"
    head.press("Enter")  # by keyboard too
    assert column(page, table, 1)[0] == "45"
    page.fill(f"{table} input", "> 99.9%")  # as it is shown
    assert set(column(page, table, 3)) == {"> 99.9%"}
    assert "of 45 rows" in page.inner_text(f"{table} [role=status]")
    page.fill(f"{table} input", "")
    page.click(f"{table} [data-turn='1']")
    assert page.inner_text(f"{table} [role=status]") == "45 rows, page 2 of 2"
    assert len(column(page, table, 1)) == 20


def test_names_are_text(opened):
    page = opened()
    assert "<script>alert(1)</script>" in column(page, "#table1-2-2", 1)
    assert page.query_selector_all("td script, caption script") == []


def test_charts_are_drawn_and_say_more_on_hover(opened):
    page = opened()
    charts = page.query_selector_all(".chart")
    assert len(charts) > 10
    for chart in charts:
        shown = [drawn for drawn in chart.query_selector_all("svg") if drawn.is_visible()]
        assert len(shown) == 1
        assert shown[0].get_attribute("aria-label")
    bar = page.locator("#chart1-1-2 .wide rect").first
    bar.scroll_into_view_if_needed()
    bar.hover(force=True)
    assert page.inner_text("#tip") == bar.get_attribute("data-tip") == "1: 40.0%"
    page.keyboard.press("Escape")
    chart = page.locator("#chart1-1-2")
    chart.focus()
    chart.press("ArrowRight")
    chart.press("ArrowRight")  # the second bar, by keyboard
    assert page.inner_text("#tip").startswith("2: ")
    chart.press("Escape")
    assert not page.is_visible("#tip")


def test_a_touch_shows_the_nearest_point(browser, report_path):
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True)
    page = context.new_page()
    page.goto(report_path.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    dot = page.locator("section:has(h3:text('Network')) .narrow circle[data-tip]").first
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert ": cluster " in page.inner_text("#tip")
    tip = page.locator("#tip").bounding_box()
    assert tip["x"] >= 0
    assert tip["x"] + tip["width"] <= 390
    context.close()


def test_four_reports_in_one_page_are_small_and_ask_for_nothing(opened, report_path):
    assert report_path.stat().st_size < 2_000_000
    page = opened()
    fetched = page.evaluate("performance.getEntriesByType('resource').map(resource => resource.name)")
    assert [name for name in fetched if not name.startswith("data:")] == []
    assert page.locator("[onclick], [onload], script[src], link, iframe, form").count() == 0


def test_wide_tables_say_that_they_scroll(opened):
    table = "section:has(h3:text-is('Workers')) .table"
    narrow, broad = opened(width=390), opened(width=1900)
    narrow.locator(f"{table} .more").first.wait_for(state="visible")
    broad.wait_for_timeout(200)
    assert not broad.locator(".table .more").last.is_visible()


def test_light_and_dark(opened, tmp_path):
    light, dark = opened("light"), opened("dark")
    pictures = [page.screenshot(path=tmp_path / f"{i}.png") for i, page in enumerate((light, dark))]
    assert all(len(picture) > 10_000 for picture in pictures)
    background = "getComputedStyle(document.body).backgroundColor"
    assert light.evaluate(background) == "rgb(255, 255, 255)"
    assert max(map(int, dark.evaluate(background)[4:-1].split(","))) < 60
    dark.click("#theme")
    assert dark.evaluate(background) == "rgb(255, 255, 255)"
    ink = "getComputedStyle(document.querySelector('.chart text')).fill"
    assert dark.evaluate(ink) == light.evaluate(ink) == "rgb(28, 36, 48)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_findings_show_how_serious_they_are(browser, tmp_path, scheme):
    """A red border for a problem, amber for a warning, green for a note."""
    findings = Findings([(severity, "odd answers", "Some.", "Look.") for severity in SEVERITIES])
    write_report(Report("Labels", "", [Section("Diagnosis", "", [findings])]), tmp_path / "findings.html")
    page = browser.new_page(color_scheme=scheme)
    page.goto((tmp_path / "findings.html").as_uri())
    borders = page.eval_on_selector_all(
        "section .finding", "all => all.map(box => getComputedStyle(box).borderLeftColor)"
    )
    expected = {
        "light": ["rgb(179, 38, 30)", "rgb(161, 92, 0)", "rgb(31, 122, 77)"],
        "dark": ["rgb(255, 138, 128)", "rgb(240, 179, 87)", "rgb(111, 211, 160)"],
    }
    assert borders == expected[scheme]
    assert [box.split(":")[0] for box in page.locator("section .finding").all_inner_texts()] == [
        "Problem",
        "Warning",
        "Note",
    ]
    above = page.locator(".warnings .finding").all_inner_texts()  # on the first screen, without the note
    assert [box.split(":")[0] for box in above] == ["Problem", "Warning"]
    page.close()


def test_nothing_overflows_on_a_phone(opened, browser, tmp_path):
    page = opened(width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    rng = np.random.default_rng(0)
    labels = [f"class number {i} " + "with_a_name_that_does_not_end" * 9 * (i == 3) for i in range(14)]
    table = pd.DataFrame({"task": np.repeat(np.arange(60), 4), "worker": np.tile(list("abcd"), 60)})
    table["label"] = rng.choice(labels, 240)
    write_report(report_of(DawidSkene("majority", max_iter=3).fit(table)), tmp_path / "wide.html")
    other = browser.new_page(viewport={"width": 390, "height": 800})
    other.goto((tmp_path / "wide.html").as_uri())
    other.wait_for_selector("html[data-ready=yes]")
    assert other.evaluate("document.documentElement.scrollWidth") <= 390
    other.close()


def test_it_prints_dark_on_white(opened, tmp_path):
    page = opened("dark")
    ink = "getComputedStyle(document.querySelector('.chart text')).fill"
    assert page.evaluate(ink) == "rgb(232, 236, 242)"
    page.emulate_media(media="print")
    assert page.evaluate(ink) == "rgb(28, 36, 48)"
    assert len(page.pdf(path=tmp_path / "report.pdf")) > 50_000


def test_shares_are_readable_on_their_colours(opened):
    """Contrast of 4.5 to 1 in the confusion matrices, light and dark (WCAG AA)."""
    script = """() => {
      const linear = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const light = colour => {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(linear);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      return Math.min(...[...document.querySelectorAll(".matrix td")].map(cell => {
        const style = getComputedStyle(cell);
        const [a, b] = [light(style.color), light(style.backgroundColor)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      }));
    }"""
    for scheme in ("light", "dark"):
        assert opened(scheme).evaluate(script) >= 4.5


def test_a_screen_reader_finds_its_way(opened):
    page = opened()
    assert page.get_attribute("html", "lang") == "en"
    assert page.evaluate("[...document.querySelectorAll('img')].every(image => image.alt)")
    assert page.evaluate("[...document.querySelectorAll('input')].every(input => input.labels.length === 1)")
    assert page.evaluate("[...document.querySelectorAll('button')].every(button => button.textContent.trim())")
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(head => Number(head.tagName[1]))")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to content"


def test_large_tables_are_sorted_and_paged(browser, tmp_path):
    rng = np.random.default_rng(0)
    n = 30_000
    answers = pd.DataFrame(
        {
            "task": np.repeat(np.arange(n), 2),
            "worker": np.tile(np.arange(20), 2 * n // 20),
            "label": rng.integers(3, size=2 * n),
        }
    )
    path = tmp_path / "large.html"
    write_report(report_of(DawidSkene("majority", max_iter=3).fit(answers)), path)
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    page.locator("#table1-3-1 th button").first.click()
    shown = list(map(int, column(page, "#table1-3-1", 1)))
    assert len(shown) == 25
    assert shown == sorted(shown)
    assert "page 1 of 800" in page.inner_text("#table1-3-1 [role=status]")
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_chosen_number_is_marked(browser, tmp_path, scheme):
    X = make_topics(n_samples=240, n_features=12, n_topics=4, noise=0.002).X
    found = select(ANDNMF(1, random_state=0), X, random_state=0)
    write_report(report_of(SavedModel(found.estimator, X, selection=found)), tmp_path / "r.html")
    page = browser.new_page(color_scheme=scheme)
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((tmp_path / "r.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    chart = page.locator("section:has(h3:text('How many?')) .chart").first
    chart.scroll_into_view_if_needed()
    assert chart.locator(".wide .rf-range").count() > 0
    ring = chart.locator(".wide circle.rf-ring").last  # the first is in the legend
    point = chart.locator(".wide circle[data-tip*='number 4']")
    centres = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in map(bounds, (ring, point))]
    np.testing.assert_allclose(*centres, atol=1.5)
    page.close()
    assert wrong == []


def bounds(place):
    return place.bounding_box()


@pytest.mark.parametrize("form", ["share", "points"])
def test_a_share_is_rounded_as_in_the_sentences(browser, tmp_path, form):
    values = [0.622451, 0.6125, 0.6175, 0.0625, -0.0625, 0.3, 1.0, 0.0, -0.0004, -0.0190]
    table = Table("Shares", [Column("share", form)], [[value] for value in values])
    write_report([Report("Shares", "", [Section("All", "", [table])])], tmp_path / "page.html")
    page = browser.new_page()
    page.goto(f"file://{tmp_path / 'page.html'}")
    page.locator("th button").first.click()
    assert page.locator("tbody td").all_inner_texts() == [_cell(value, form) for value in sorted(values, reverse=True)]
    page.close()


def test_figures_are_the_same_with_and_without_the_script(browser, tmp_path):
    columns = [Column("worker"), Column("a long list"), Column("figure", "number"), Column("share", "share")]
    rows = [["w", "one, two, three, four, five", 0.47, 0.0003], ["v", "one", 1.7e-13, 0.9997], ["u", "", -2.5, 0.5]]
    write_report([Report("R", "", [Section("S", "", [Table("T", columns, rows, folded=True)])])], tmp_path / "r.html")
    shown = []
    for script in (False, True):
        context = browser.new_context(java_script_enabled=script, viewport={"width": 390, "height": 800})
        page = context.new_page()
        page.goto((tmp_path / "r.html").as_uri())
        page.click("summary")
        shown.append([(cell.inner_text(), cell.get_attribute("class")) for cell in page.query_selector_all("tbody td")])
        assert page.locator("h4:text-is('T')").bounding_box()["width"] <= 1  # the summary has the title
        assert page.is_visible(".pager button") is False or not script  # three rows need no pages
        context.close()
    assert shown[0] == shown[1]
    assert [text for text, _ in shown[1][:4]] == ["w", "one, two, three, four, five", "0.47", "< 0.1%"]
