"""The talk: ten slides that fit, whose pictures are there, and a page of the PDF for each."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser

import talk

pytestmark = pytest.mark.engine


def test_every_slide_fits_and_shows_its_picture(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": talk.WIDTH, "height": talk.HEIGHT})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.set_content(talk.page(), wait_until="load")
    too_long = page.eval_on_selector_all(
        "section", "all => all.filter(one => one.scrollHeight > one.clientHeight).map(one => one.innerText)"
    )
    assert too_long == []
    assert page.locator("section").count() == 10
    small = page.eval_on_selector_all(
        "img", "all => all.filter(one => one.clientHeight < 250 || !one.naturalWidth).length"
    )
    assert (page.locator("img").count(), small) == (5, 0)
    # Lines of output are not cut at the edge.
    assert page.eval_on_selector_all("pre", "all => all.filter(one => one.scrollWidth > one.clientWidth).length") == 0
    assert [url for url in asked if not url.startswith("data:")] == []
    printed = talk.pdf(browser, talk.page())
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 10
    page.close()


def test_nothing_that_stands_for_something_is_left() -> None:
    assert not [slide for slide in talk.slides() if re.search(r"<!--|\{\w+\}", slide)]
