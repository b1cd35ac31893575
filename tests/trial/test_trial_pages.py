"""Names, labels, texts and titles that would run as scripts: reports of them are opened in a real browser."""

import shutil

import numpy as np
import pandas as pd
import pytest

from trial.sandbox import command

pytestmark = pytest.mark.trial
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HIT = "window.hit=1"
PAYLOADS = (
    *(f"<script>{HIT}</script>", f"</script><script>{HIT}</script>", f"</style><script>{HIT}</script>"),
    *(f"<img src=x onerror={HIT}>", f"<svg onload={HIT}>", f"<svg/onload={HIT}>", f"<body onload={HIT}>"),
    *(
        f'"><script>{HIT}</script>',
        f"'><script>{HIT}</script>",
        f'" onmouseover="{HIT}',
        f"' onfocus='{HIT}' autofocus='",
    ),
    *(f"</title><script>{HIT}</script>", f"</text></svg><script>{HIT}</script>", f"-->\n<script>{HIT}</script>"),
    *(f"]]><script>{HIT}</script>", f"<iframe srcdoc='<script>parent.{HIT}</script>'>", f"javascript:{HIT}"),
    *(
        f"<a href=javascript:{HIT}>x</a>",
        f"<details open ontoggle={HIT}>",
        f"<math><mi//xlink:href='javascript:{HIT}'>",
    ),
    *(f"${{{HIT}}}", f"{{{{{HIT}}}}}", f"{{% {HIT} %}}", f"';{HIT};'", f'";{HIT};"', f"\\u003cscript\\u003e{HIT}"),
    *(f"&lt;script&gt;{HIT}&lt;/script&gt;", f"&#60;script&#62;{HIT}", f"<scr<script>ipt>{HIT}</scr</script>ipt>"),
    *(f"<input autofocus onfocus={HIT}>", f"<video><source onerror={HIT}>", f"<style>@import 'x'</style>{HIT}"),
    *(f"<base href='https://example.org/'>{HIT}", f"<meta http-equiv=refresh content='0;url=javascript:{HIT}'>"),
)
"""Each sets ``window.hit`` if it runs; none may."""


def files(payload, rng):
    """Tables in which names of rows and columns, labels and texts are the payload, and the commands that read them."""
    tag = payload.replace("\n", " ")
    answers = pd.DataFrame(
        [(f"{tag}{i}", f"{tag}w{j}", tag if rng.random() < 0.6 else "no") for i in range(12) for j in range(4)],
        columns=["task", "worker", "label"],
    )
    numbers = pd.DataFrame(rng.poisson(2.0, (14, 6)), columns=[f"{tag}c{j}" for j in range(6)])
    numbers.insert(0, "id", [f"{tag}r{i}" for i in range(14)])
    edges = pd.DataFrame([(f"{tag}{i}", f"{tag}{j}") for i in range(12) for j in range(i) if i % 3 == j % 3])
    edges.columns = pd.Index(["source", "target"])
    tables = {"labels": answers, "parts": numbers, "embed": numbers, "cluster": edges}
    words = {
        "labels": ("labels", "data.csv", "-o", "out.csv"),
        "parts": ("parts", "data.csv", "-k", "2", "-o", "out.npz"),
        "embed": ("embed", "data.csv", "-k", "2", "-o", "out.csv"),
        "cluster": ("cluster", "--graph", "data.csv", "-k", "2", "-o", "out.csv"),
    }
    return {kind: (tables[kind], words[kind]) for kind in tables}


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")
@pytest.mark.timeout(7200)
def test_payloads_in_a_browser(tmp_path, trial):
    playwright = pytest.importorskip("playwright.sync_api")
    row, kinds = trial("injection in a browser", 6, 4 * len(PAYLOADS)), ("labels", "parts", "embed", "cluster")
    pages = []
    for case in range(row.tried, row.cases):  # all pages first: a process with a browser must not fork
        rng = np.random.default_rng([case, 3])
        payload, kind = PAYLOADS[case // len(kinds) % len(PAYLOADS)], kinds[case % len(kinds)]
        table, words = files(payload, rng)[kind]
        folder = tmp_path / str(case)
        folder.mkdir()
        table.to_csv(folder / "data.csv", index=False)
        pages.append((payload, kind, folder, command([*words, "--report", "report.html"], folder)))
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for case, (payload, kind, folder, outcome) in zip(row, pages, strict=True):
            problem = f"code {outcome.code}: {outcome.err[-500:]}" if outcome.crashed else ""
            if outcome.code == 0:
                problem = what_happened(browser, folder / "report.html", payload)
            if problem:
                row.failed(f"case {case}: {payload!r} in {kind}: {problem}")
        browser.close()
    row.check()


def what_happened(browser, path, payload):
    """Whether a page ran the payload, asked for anything, or showed an error; an empty string if not."""
    page, seen = browser.new_page(), []
    page.on("pageerror", lambda error: seen.append(f"error {error}"))
    page.on("dialog", lambda dialog: (seen.append("a dialog"), dialog.dismiss()))
    page.on(
        "request", lambda request: seen.append(request.url) if not request.url.startswith(("file:", "data:")) else None
    )
    page.goto(path.as_uri())
    for element in page.query_selector_all("[onmouseover], [onfocus], [ontoggle], [onload], [onerror]")[:3]:
        seen.append(f"an element with a handler: {element.evaluate('e => e.outerHTML')[:100]}")
    seen = [what for what in seen if not what.startswith(("file:", "data:"))]
    if page.evaluate("window.hit === 1"):
        seen.append("the payload ran")
    page.close()
    return "; ".join(seen)
