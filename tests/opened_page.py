"""A page in headless Chromium, with what the browser complained about and what it asked for."""

import shutil

import pytest

ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync "
    "--no-first-run"
)


def launched():
    """Yield a running browser; the test is skipped where there is none."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright, which drives chromium, is not installed"
    )
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS.split())
        yield running
        running.close()


class Opened:
    """An opened page, with its complaints and the addresses that it requested."""

    def __init__(self, browser, file, width=1280, scheme="light", *, address="", **options):
        size = {"width": width, "height": 900}
        self.context = browser.new_context(viewport=size, color_scheme=scheme, **options)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri() + address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()
