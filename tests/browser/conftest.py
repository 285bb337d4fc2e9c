"""Chromium and the real server. Pages are opened by `open_page`, so that each test says how wide, dark or plain."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, sync_playwright
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from tests.fleet.builders import person

# Playwright's loop runs in the test's thread, where the ORM is used as well, one after the other.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
PASSWORD = "correct horse"
OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium (LLMAO_CHROMIUM names another), else the one that Playwright has downloaded."""
    found = os.environ.get("LLMAO_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def open_page(browser: Browser, live_server: LiveServer) -> Iterator[OpenPage]:
    """`open_page(**options)` gives a page in a fresh context; errors in its JavaScript fail the test."""
    contexts = []
    broken: list[str] = []

    def open_one(**options: Any) -> Page:
        context = browser.new_context(base_url=live_server.url, **options)
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: broken.append(str(error)))
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert broken == []


@pytest.fixture
def people(live_server: LiveServer, settings: Settings) -> None:
    """ada may everything, vera is staff who may nothing, cora calls models."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # a slow one slows every test
    User.objects.create_superuser("ada", password=PASSWORD)
    person("vera", staff=True)
    person("cora")


def sign_in(page: Page, name: str) -> Page:
    """Sign in at the form, and arrive at `/models`."""
    page.goto("/models")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/models")
    return page
