"""Check that the links between the pages of a built site lead somewhere.

python tools/check_links.py site
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, file):
        super().__init__()
        self.links, self.anchors = [], {"", "top"}
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        """Note addresses and anchors."""
        found = dict(attributes)
        self.anchors.update(found[key] for key in ("id", "name") if found.get(key))
        self.links += [found[key] for key in ("href", "src") if found.get(key)]


def broken(folder):
    """Yield pages and their links that lead nowhere."""
    files = [f for f in folder.rglob("*.html") if "_static" not in f.parts]  # templates of a theme
    pages = {file.resolve(): Page(file) for file in files}
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.exists() or (
                target in pages and unquote(parts.fragment) not in pages[target].anchors
            ):
                yield file.relative_to(folder.resolve()), link


if __name__ == "__main__":
    lost = sorted(set(broken(Path(sys.argv[1]))))
    for page, link in lost:
        print(f"{page}: {link} leads nowhere")
    sys.exit(bool(lost))
