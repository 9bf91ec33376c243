"""IPython and IPython.display where IPython is not installed: what code that was written for a notebook imports.

Loaded when code imports IPython.
"""
import sys
from _frozen_importlib import ModuleSpec

from warder import _helpers


class _Text:
    """A text that a notebook would show as a page."""

    def __init__(self, data=None, **_options):
        self.data = data

    def _repr_html_(self):
        return str(self.data)


class HTML(_Text):
    pass


class Markdown(_Text):
    pass


class SVG(_Text):
    pass


class Image:
    """A picture: bytes, or a file of PNG or JPEG."""

    def __init__(self, data=None, url=None, filename=None, **_options):
        if url is not None:
            raise ValueError("a picture by its URL cannot be shown here: give its bytes or its file")
        if filename is None and isinstance(data, str):
            data, filename = None, data
        if filename is not None:
            with open(filename, "rb") as file:
                data = file.read()
        self.data = bytes(data)

    def _repr_png_(self):
        return self.data

    def _repr_jpeg_(self):
        return self.data


def JSON(data, **_options):
    return data


def clear_output(wait=False):
    """There is no cell to clear."""


class _Loader:
    def __init__(self, names):
        self._names = names

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__dict__.update(self._names)


def find_spec(name):
    if name == "IPython":
        spec = ModuleSpec(name, _Loader({"get_ipython": lambda: None}), is_package=True)
        spec.submodule_search_locations = []
        return spec
    if sys.modules["IPython"].__path__:  # a package of the code's own
        return None
    shown = {"display": _helpers.display, "HTML": HTML, "Markdown": Markdown, "SVG": SVG, "Image": Image, "JSON": JSON,
             "clear_output": clear_output}
    return ModuleSpec(name, _Loader(shown))
