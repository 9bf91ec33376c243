"""HTML to text, links and tables."""
from html.parser import HTMLParser

_BLOCKS = {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "table", "ul", "ol", "pre"}
_HIDDEN = {"script", "style", "noscript", "template", "svg"}


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.title, self.text, self.links, self.tables = "", [], [], []
        self._hidden = 0
        self._in_title = False
        self._link = self._cell = None

    def handle_starttag(self, tag, attributes):
        self._hidden += tag in _HIDDEN
        self._in_title = tag == "title"
        if tag in _BLOCKS:
            self.text.append("\n")
        if tag == "a" and (target := dict(attributes).get("href")):
            self._link = {"text": "", "href": target}
            self.links.append(self._link)
        if tag == "table":
            self.tables.append([])
        if tag == "tr" and self.tables:
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.text.append(" ")
        if tag in ("td", "th") and self.tables and self.tables[-1]:
            self._cell = self.tables[-1][-1]
            self._cell.append("")

    def handle_endtag(self, tag):
        self._hidden = max(0, self._hidden - (tag in _HIDDEN))
        if tag in _BLOCKS:
            self.text.append("\n")
        if tag == "a":
            self._link = None
        if tag in ("td", "th"):
            self._cell = None
        if tag == "title":
            self._in_title = False

    def handle_data(self, data):
        if self._hidden:
            return
        if self._in_title:
            self.title += data
            return
        self.text.append(data)
        if self._link is not None:
            self._link["text"] += data
        if self._cell is not None:
            self._cell[-1] += " ".join(data.split())


def html_text(html):
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.text).split("\n"))
    return {"title": reader.title.strip(), "text": "\n".join(line for line in lines if line),
            "links": [{**link, "text": " ".join(link["text"].split())} for link in reader.links],
            "tables": [table for table in reader.tables if table]}
