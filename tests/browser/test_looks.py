"""What can be measured of the looks: widths, contrast, both schemes, and that colour is never alone."""

import pytest
from playwright.sync_api import Page, expect

from .conftest import OpenPage, sign_in
from .states import everything

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WIDE, TABLET, PHONE = {"width": 1440, "height": 900}, {"width": 820, "height": 1100}, {"width": 360, "height": 740}

# Each visible text with its contrast to what lies behind it (WCAG 2.1: 4.5 for text of this size).
POOR_CONTRAST = """() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = channels(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const element = text.parentElement;
    if (!text.data.trim() || !element.checkVisibility()) continue;
    const [a, b] = [light(channels(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) poor.push(`${text.data.trim()}: ${ratio.toFixed(2)}`);
  }
  return poor;
}"""


def opened(page: Page) -> Page:
    """Everything unfolded."""
    for summary in page.locator("summary").all():
        summary.click()
    return page


@pytest.fixture
def full(people: None) -> None:
    everything()


@pytest.mark.parametrize("size", [WIDE, TABLET, PHONE], ids=["wide", "tablet", "phone"])
@pytest.mark.parametrize("name", ["ada", "cora"])
def test_it_never_scrolls_sideways(full: None, open_page: OpenPage, size: dict[str, int], name: str) -> None:
    page = open_page(viewport=size)
    page.goto("/models")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    opened(sign_in(page, name))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_it_can_be_read_in_both_schemes(full: None, open_page: OpenPage, scheme: str, size: dict[str, int]) -> None:
    page = open_page(viewport=size, color_scheme=scheme)
    page.goto("/models")
    assert page.evaluate(POOR_CONTRAST) == []
    opened(sign_in(page, "ada"))
    assert page.evaluate(POOR_CONTRAST) == []


def test_it_follows_the_scheme_of_the_system(full: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(color_scheme="light"), "cora")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(paper) != light


def test_it_tells_every_verdict_by_a_text_and_a_shape_too(full: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(), "ada")
    marks = page.locator(".mark")
    assert marks.count() > 20
    shape = """(marks) => marks.map((mark) => {
      const style = getComputedStyle(mark.querySelector('.shape'));
      return [mark.className, style.clipPath, style.borderRadius, style.borderWidth, style.height].join('|');
    })"""
    looks = {tuple(each.split("|", 1)) for each in marks.evaluate_all(shape)}
    assert len({tone for tone, _ in looks}) == len({shape for _, shape in looks}) == 5
    assert all(text.strip() for text in marks.all_inner_texts())


def test_it_is_usable_by_keyboard_alone(full: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(), "ada")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.locator(".approve > summary").focus()
    for key in ("Enter", "Tab", "Space", "Tab"):
        page.keyboard.press(key)
    expect(page.locator("input[name=model]").first).to_be_checked()
    expect(page.get_by_label("Port for qwen3-8b")).to_be_focused()


def test_it_does_not_move_anything_when_an_age_ticks_or_a_pass_changes_nothing(full: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(viewport=WIDE), "ada")
    before = page.locator("section").evaluate_all("(all) => all.map((each) => each.getBoundingClientRect().top)")
    with page.expect_response(lambda answer: "/models/live" in answer.url and answer.status == 200):
        everything_again()
    after = page.locator("section").evaluate_all("(all) => all.map((each) => each.getBoundingClientRect().top)")
    assert before == after


def everything_again() -> None:
    """The same pass once more."""
    from fleet import passes

    shown = passes.latest()
    assert shown is not None
    passes.store(shown.at, shown.view, shown.plan, {}, 0.0)
