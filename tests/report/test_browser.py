"""The page in a real browser: nothing is fetched, nothing complains, the slider tells the truth.

Chromium has to be installed (Debian: apt-get install chromium); CI installs it and may not skip.
"""

import json
import os
import shutil

import pytest
from pages import HOSTILE, family, rows

import tailoredbayes as tb

pytestmark = pytest.mark.slow

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",  # Chromium refuses its sandbox to root, which CI is
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
READY = "#explorer-panel[data-ready=yes]"


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("CI must have Chromium: the report is tested in it")
        pytest.skip("Chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        found = tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report of hostile names, as a file."""
    names = ["age", "nodes", *HOSTILE]
    model = family(names, thresholds=[0.2, 0.3, 0.4, 0.6])
    test = tb.Sample(*rows(250, 2, names), ids=[f"<img src=x>{i}" for i in range(250)])
    place = tmp_path_factory.mktemp("report") / "report.html"
    return tb.write_report(model, place, train=tb.Sample(*rows(300, 1, names)), test=test)


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def opened(browser, report, request):
    """The page, what it asked for and what it complained of."""
    page = browser.new_page(viewport=request.param)
    asked, said = [], []
    page.on("request", lambda one: asked.append(one.url))
    page.on("console", lambda one: said.append(one.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(report.as_uri())
    page.wait_for_selector(READY)
    yield page, asked, said
    page.close()


def cells(page, rows):
    """The text of each cell of some rows."""
    return page.evaluate(
        "rows => [...document.querySelectorAll(rows)]"
        ".map(row => [...row.children].map(cell => cell.textContent))",
        rows,
    )


def shown(page):
    """What the panel's table says now."""
    return cells(page, "#explorer-table tbody tr")


def listed(page, threshold):
    """What the whole table says of a threshold: policies and their numbers."""
    found = cells(page, "#explorer details tbody tr")
    return [row[2:] for row in found if row[0] == threshold]


def test_the_panel_takes_the_place_of_the_note(opened):
    page, _, _ = opened
    assert page.locator("#explorer-panel").is_visible()
    assert not page.locator("#explorer-still").is_visible()


def test_nothing_is_fetched_and_nothing_complains(opened, report):
    page, asked, said = opened
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    page.mouse.wheel(0, 4000)
    page.wait_for_timeout(300)
    assert asked == [report.as_uri()]
    assert said == []
    assert not page.evaluate("document.querySelectorAll('img, b').length")


def test_the_page_is_as_wide_as_the_screen(opened):
    page, _, _ = opened
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_slider_moves_the_numbers_and_they_are_the_tables(opened):
    page, _, said = opened
    data = json.loads(page.locator("#explorer-data").text_content())
    seen = []
    page.locator("#explorer-slider").focus()
    page.keyboard.press("Home")
    for place, threshold in enumerate(data["thresholds"]):
        assert page.locator("#explorer-threshold").text_content() == threshold
        assert page.locator("#explorer-accepted").input_value() == data["accepted"][place]
        now = shown(page)
        of_t = listed(page, threshold)
        assert [[*row, ""] for row in now[:3]] == [[*row[:-1], ""] for row in of_t]
        assert page.locator("#explorer-uncertain").text_content() == of_t[0][-1]
        assert page.locator("#explorer-slider").get_attribute("aria-valuetext") == threshold
        seen.append(json.dumps(now))
        page.keyboard.press("ArrowRight")
    assert len(set(seen)) == len(data["thresholds"])
    assert said == []


def test_the_mark_on_the_curve_follows_the_slider(opened):
    page, _, _ = opened
    marks = (
        "[...document.querySelectorAll('#explorer-chart .mark-symbol.role-mark path')]"
        ".map(path => path.getAttribute('transform'))"
    )
    page.locator("#explorer-slider").fill("0")
    first = page.evaluate(marks)
    page.locator("#explorer-slider").fill("3")
    page.wait_for_timeout(200)
    assert first
    assert page.evaluate(marks) != first


def test_accepted_treatments_choose_the_nearest_threshold(opened):
    page, _, _ = opened
    field = page.locator("#explorer-accepted")
    for number, threshold in (("4", "20%"), ("1.6", "40%"), ("0", "60%"), ("1000", "20%")):
        field.fill(number)
        assert page.locator("#explorer-threshold").text_content() == threshold
        assert threshold in page.locator("#explorer-said").text_content()
    field.blur()
    assert field.input_value() == "4"


def test_without_javascript_the_page_tells_everything(browser, report):
    page = browser.new_page(java_script_enabled=False)
    page.goto(report.as_uri())
    assert not page.locator("#explorer-panel").is_visible()
    assert page.locator("#explorer details table").is_visible()
    assert page.get_by_text("With JavaScript there is a slider here").is_visible()
    page.close()


def test_it_prints(browser, report):
    page = browser.new_page()
    page.goto(report.as_uri())
    page.wait_for_selector(READY)
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert 5 <= printed.count(b"/Type /Page\n") <= 30
    page.close()


def test_it_can_be_heard(opened):
    """What a screen reader is given: names of pictures, fields and regions, one main heading."""
    page, _, _ = opened
    assert page.get_by_role("heading", level=1).count() == 1
    for role in ("img", "slider", "spinbutton", "region", "navigation", "main"):
        for one in page.get_by_role(role).all():
            named = one.evaluate(
                "e => e.tagName == 'MAIN' || e.getAttribute('aria-label')"
                " || e.labels?.[0]?.textContent"
                " || (e.getAttribute('aria-labelledby') || '').split(' ')"
                ".map(i => document.getElementById(i)?.textContent || '').join('')"
            )
            assert named, one.evaluate("e => e.outerHTML.slice(0, 200)")
