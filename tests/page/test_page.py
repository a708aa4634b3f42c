"""The page in a real browser: against a real service, and as a file without a network."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from hanyi.explain import describe, explain
from hanyi.explain import page as document
from hanyi.service.app import create_app
from hanyi.service.limits import USUAL
from hanyi.service.server import listen, url_of
from hanyi.translator import Translator
from tests.browser import Visit, launched, visiting
from tests.models import save_tiny_model, tiny_tokenizers

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TEXT = "我爱你。"
DESKTOP = {"width": 1100, "height": 900}
PHONE = {"width": 360, "height": 740}
PERCENT = re.compile(r"<?\d+(\.\d)?%")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    root = tmp_path_factory.mktemp("served")
    pair = tiny_tokenizers(root / "models" / "tokenizers")
    save_tiny_model(root / "models" / "transformer", *pair)
    return Translator.load(root, device="cpu")


@pytest.fixture(scope="module")
def address(translator: Translator) -> Iterator[str]:
    """Serve the real application on a free port of loopback."""
    with closing(listen("127.0.0.1", 0)) as taken:
        server = uvicorn.Server(uvicorn.Config(create_app(translator, USUAL), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
        thread.start()
        try:
            end = time.monotonic() + 30
            while not server.started and time.monotonic() < end:
                time.sleep(0.02)
            yield url_of(taken)
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def file(translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("file") / "page.html"
    path.write_text(document(describe(translator), explain(translator, TEXT)), encoding="utf-8")
    return path.as_uri()


def translated(visit: Visit, address: str, text: str = TEXT) -> Page:
    """Type a text, and wait until all of it is there."""
    visit.page.goto(address)
    visit.page.fill("#text", text)
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("#inside:not([hidden])")
    return visit.page


def shares(page: Page, group: str) -> list[float]:
    """Give how strongly each token is shaded."""
    script = "tokens => tokens.map(one => Number(one.style.getPropertyValue('--share')))"
    return page.eval_on_selector_all(f"{group} .token", script)


def test_type_and_see_it_stream(browser: Browser, address: str, translator: Translator) -> None:
    expected = explain(translator, TEXT)
    with visiting(browser, viewport=DESKTOP, locale="en-GB") as visit:
        visit.page.add_init_script("""
            window.seen = [];
            addEventListener("DOMContentLoaded", () => new MutationObserver(() =>
                seen.push(document.getElementById("written").textContent)
            ).observe(document.getElementById("written"), {childList: true, characterData: true}));
        """)
        page = translated(visit, address)
        assert page.inner_text("#written") == expected["translation"]
        seen = [text for text in page.evaluate("seen") if text]
        assert len(set(seen)) > 1, "it came at once, not as a stream"
        assert seen[1].startswith(seen[0])
        best = page.locator("#best tr")
        assert best.count() == len(expected["n_best"])
        assert f"{expected['n_best'][0]['score']:.2f}" in best.first.inner_text()
        assert page.locator("#steps tr").count() == len(expected["tgt_tokens"])
        assert PERCENT.search(page.locator("#steps tr .chance").first.inner_text())
        assert page.locator("#steps tr").first.locator(".other").count() >= 3
        assert visit.faults == []


def test_point_at_a_token_and_choose_head_and_layer(
    browser: Browser, address: str, translator: Translator
) -> None:
    maps = explain(translator, TEXT)["attention"]
    with visiting(browser, viewport=DESKTOP, locale="en-GB") as visit:
        page = translated(visit, address)
        page.hover("#queries .token:nth-child(2)")
        heads = maps["cross"][-1]
        mean = [sum(head[1][k] for head in heads) / len(heads) for k in range(len(heads[0][1]))]
        assert shares(page, "#keys") == pytest.approx(mean, abs=1e-6)
        page.click("#heads button:nth-child(4)")
        assert shares(page, "#keys") == heads[2][1]
        page.click("#layers button:nth-child(1)")
        assert shares(page, "#keys") == maps["cross"][0][2][1]
        page.hover("#keys .token:nth-child(1)")
        assert shares(page, "#queries") == [row[0] for row in maps["cross"][0][2]]
        page.click("#kinds button:nth-child(3)")
        page.hover("#queries .token:nth-child(2)")
        assert shares(page, "#keys") == maps["decoder"][0][2][1]
        assert shares(page, "#keys")[2:] == [0] * (len(maps["decoder"][0][2][1]) - 2)
        assert page.inner_text("#weights").strip()
        assert visit.faults == []


def test_the_tree_shows_what_was_kept_and_dropped(
    browser: Browser, address: str, translator: Translator
) -> None:
    found = explain(translator, TEXT)
    nodes = found["tree"]["nodes"]
    with visiting(browser, viewport=DESKTOP, locale="en-GB") as visit:
        page = translated(visit, address)
        for fate in ("kept", "dropped", "finished", "cut"):
            count = sum(node["fate"] == fate for node in nodes)
            assert page.locator(f"#tree .node.{fate}").count() == count
        page.click("#dropped")
        assert page.locator("#tree .node.dropped").count() == 0
        path, number = [], found["n_best"][0]["leaf"]
        while number is not None:
            path.append(number)
            number = nodes[number]["parent"]
        lit = "nodes => nodes.map(one => Number(one.dataset.number))"
        assert page.eval_on_selector_all("#tree .node.path", lit) == path[::-1]
        page.locator("#best button").nth(1).click()
        assert found["n_best"][1]["text"] in page.inner_text("#node")
        assert visit.faults == []


def test_languages(browser: Browser, address: str) -> None:
    with visiting(browser, viewport=DESKTOP, locale="zh-CN") as visit:
        page = translated(visit, address)
        assert page.inner_text("#tree-title") == "束搜索"
        assert page.get_attribute("html", "lang") == "zh-CN"
        page.click("text=English")
        assert page.inner_text("#tree-title") == "The search"
        assert page.get_attribute("html", "lang") == "en"
        page.reload()
        assert page.inner_text("#tree-title, #encodings-title >> visible=true") == (
            "Positions and masks"
        )
        for code in ("en", "zh"):
            page.click(f"[data-language={code}]")
            assert "undefined" not in page.inner_text("body")
            named = page.eval_on_selector_all("[data-t]", "all => all.map(one => one.textContent)")
            assert all(named)
        assert visit.faults == []


def test_the_keyboard_alone(browser: Browser, address: str) -> None:
    with visiting(browser, viewport=DESKTOP, locale="en-GB") as visit:
        page = visit.page
        page.goto(address)
        focused = "document.activeElement.id || document.activeElement.parentElement.id"

        def tab_to(name: str) -> None:
            for _ in range(40):
                page.keyboard.press("Tab")
                if page.evaluate(focused) == name:
                    return
            pytest.fail(f"{name} cannot be reached")

        tab_to("text")
        page.keyboard.type(TEXT)
        page.keyboard.press("Enter")
        page.wait_for_selector("#inside:not([hidden])")
        tab_to("layers")
        page.keyboard.press("ArrowRight")
        assert page.get_attribute("#layers button:nth-child(1)", "aria-checked") == "true"
        tab_to("heads")
        page.keyboard.press("ArrowRight")
        assert page.get_attribute("#heads button:nth-child(2)", "aria-checked") == "true"
        tab_to("queries")
        before = page.inner_text("#weights")
        page.keyboard.press("ArrowRight")
        assert page.inner_text("#weights") != before
        tab_to("tree")
        assert page.inner_text("#node") == "Beginning"
        page.keyboard.press("ArrowRight")
        first = page.inner_text("#node")
        assert first.startswith("Step 1")
        page.keyboard.press("ArrowDown")
        assert page.inner_text("#node") != first
        page.keyboard.press("ArrowLeft")
        assert page.inner_text("#node") == "Beginning"
        assert visit.faults == []


def test_a_token_that_was_read_stays_chosen(
    browser: Browser, translator: Translator, tmp_path: Path
) -> None:
    config = replace(translator.config, max_length_ratio=0.1, max_length_offset=1)
    found = explain(translator, TEXT, config)
    last = len(found["src_tokens"])
    assert last > len(found["tgt_tokens"]), "the source must be longer"
    path = tmp_path / "page.html"
    path.write_text(document(describe(translator), found), encoding="utf-8")
    with visiting(browser, viewport=DESKTOP, locale="en-GB") as visit:
        page = visit.page
        page.goto(path.as_uri())
        page.focus(f"#keys .token:nth-child({last})")
        page.click("#heads button:nth-child(2)")
        assert page.locator(f"#keys .token:nth-child({last}).chosen").count() == 1
        rows = found["attention"]["cross"][-1][0]
        assert shares(page, "#queries") == [row[last - 1] for row in rows]
        assert visit.faults == []


def test_an_empty_text_stops_nothing(browser: Browser, address: str) -> None:
    with visiting(browser, viewport=DESKTOP, locale="en-GB") as visit:
        page = visit.page
        page.goto(address)
        page.fill("#text", TEXT)
        page.keyboard.press("Enter")
        page.fill("#text", "")
        page.keyboard.press("Enter")
        page.wait_for_selector("#inside:not([hidden])")
        assert visit.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_by_day_and_by_night(browser: Browser, address: str, scheme: Any) -> None:
    with visiting(browser, viewport=PHONE, color_scheme=scheme, has_touch=True) as visit:
        page = translated(visit, address)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.tap("#queries .token:nth-child(2)")
        assert page.locator("#queries .token.chosen").count() == 1
        map_of_weights = page.locator("#map").bounding_box()
        assert map_of_weights
        page.tap("#map", position={"x": 100, "y": map_of_weights["height"] - 10})
        assert page.locator("#queries .token:last-child.chosen").count() == 1
        page.tap("#encodings canvas")
        assert page.inner_text("#encoding").startswith(("Position", "位置"))
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(map(int, re.findall(r"\d+", light)[:3])) / 3
        assert (brightness > 128) == (scheme == "light")
        assert visit.faults == []


def test_faults_are_told_in_words(browser: Browser, address: str) -> None:
    with visiting(browser, viewport=DESKTOP, locale="en-GB") as visit:
        page = visit.page
        page.goto(address)
        page.fill("#text", TEXT * 20)
        page.keyboard.press("Enter")
        page.wait_for_selector("#fault:not([hidden])")
        assert "one sentence of at most 20 tokens" in page.inner_text("#fault")
        assert page.inner_text("#written"), "the translation itself is shown"
        busy = {"status": 429, "headers": {"Retry-After": "7"}, "body": "{}"}
        page.route("**/translate", lambda route: route.fulfill(**busy))
        page.fill("#text", TEXT)
        page.keyboard.press("Enter")
        page.wait_for_selector("#fault:has-text('Try again in 7 s')")
        page.unroute("**/translate")
        page.route("**/translate", lambda route: route.abort())
        page.keyboard.press("Enter")
        page.wait_for_selector("#fault:has-text('does not answer')")
        assert all("Failed to load resource" in fault for fault in visit.faults)


def test_a_file_without_a_network(browser: Browser, file: str, translator: Translator) -> None:
    found = explain(translator, TEXT)
    asked: list[str] = []
    with visiting(browser, viewport=DESKTOP, locale="en-GB", offline=True) as visit:
        page = visit.page
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file)
        assert page.inner_text("#written") == found["translation"]
        assert page.locator("#form").is_hidden()
        page.hover("#queries .token:nth-child(1)")
        page.click("#heads button:nth-child(3)")
        assert shares(page, "#keys") == found["attention"]["cross"][-1][1][0]
        assert page.locator("#tree .node").count() == len(found["tree"]["nodes"])
        assert page.locator("#masks svg").count() == 3
        assert page.locator("#encodings canvas").count() == 2
        assert asked == [file]
        assert visit.faults == []
