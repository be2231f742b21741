"""Check a built site: links inside it lead somewhere, nothing comes from the network, every public name is there.

``python docs/_sphinx/check_site.py build/docs`` prints what it looked at, or what is wrong, and then exits with 1.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads by itself, by tag: a link that a reader may follow is none of it.
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "object": "data"}


class Page(HTMLParser):
    """The links, the loaded addresses and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag == "link" and values.get("href"):
            self.loaded.append(values["href"])
        elif values.get(LOADED.get(tag, "")):
            self.loaded.append(values[LOADED[tag]])


def problems(site: Path) -> list[str]:
    """Return what is wrong in the links and the loaded files of all pages and style sheets."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in _pages(site)}
    if not pages:
        return [f"there is no page in {site}"]
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name} loads {address} from the network" for address in page.loaded if _is_remote(address)]
        for address in [*page.links, *page.loaded]:
            if not _is_remote(address) and not _leads_somewhere(path, address, pages):
                found.append(f"{name} links to {address}, which is not there")
    for path in sorted(site.rglob("*.css")):
        urls = re.findall(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]+)", path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(site)} loads {url} from the network" for url in urls]
    return found


def _pages(site: Path) -> list[Path]:
    """Return the pages, without the templates of the theme."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.relative_to(site).parts)


def _is_remote(address: str) -> bool:
    return bool(urlsplit(address).scheme or urlsplit(address).netloc) and not address.startswith("data:")


def _leads_somewhere(path: Path, address: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(address)
    if parts.scheme:  # data: is inside the page
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return False
    anchor = unquote(parts.fragment)
    return not anchor or target not in pages or anchor in pages[target].anchors


def undocumented(site: Path) -> list[str]:
    """Return the public names that no page of the reference defines."""
    import tpauc
    from tpauc import frames

    wanted = [*(f"tpauc.{name}" for name in tpauc.__all__), *(f"tpauc.frames.{name}" for name in frames.__all__)]
    defined = {anchor for path in (site / "api").glob("*.html") for anchor in Page(path.read_text("utf-8")).anchors}
    return [f"{name} is not in the reference" for name in wanted if name not in defined]


def main(site: Path) -> int:
    """Print what is wrong, and return how the process exits."""
    found = [*problems(site.resolve()), *undocumented(site)]
    for problem in found:
        print(problem)
    if not found:
        print(f"{len(_pages(site))} pages in {site}: links inside the site lead somewhere")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
