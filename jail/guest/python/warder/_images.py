"""Figures and pictures of the jailed code as PNG: shown ones, open ones, and those that are the answer; display().

A picture that the code saved to a file of the workspace is not collected: the supervisor adds the file to the answer.
Imports no library: matplotlib and PIL are loaded only if the code has loaded them.
"""
import io
import sys

MAX_COUNT = 8
MAX_FILES = 4  # kMaxImageFiles of supervisor/executions/runs/image_files.h
MAX_BYTES = 1 << 20
_SIGNATURES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"))


class Images:
    """Collects pictures in the order of showing; more than MAX_COUNT or too large ones are left out, with a note."""

    def __init__(self, workspace):
        self._folder = workspace.rstrip("/") + "/"
        self.forget()

    def forget(self):
        """Clears the pictures, for the next order of a session."""
        self.found = []  # (mime, bytes)
        self._left_out = 0
        self._files = set()  # pictures that the code saved and the supervisor adds

    def watch_pyplot(self, pyplot):
        """Makes plt.show() and Figure.show() collect the figure; the Agg backend would only print a warning."""
        from matplotlib.figure import Figure
        save = Figure.savefig

        def show(*args, **kwargs):
            self._take_open(pyplot, saved_too=True)

        def show_one(figure, warn=True):
            if not _is_saved(figure):
                self._add_figure(figure)
            pyplot.close(figure)

        def savefig(figure, fname, **kwargs):
            answer = save(figure, fname, **kwargs)
            if self._is_added(fname):
                figure.warder_saved = True
                figure.stale = False  # the figure's next change makes it true
            return answer

        pyplot.show = show
        Figure.show = show_one
        Figure.savefig = savefig

    def _is_added(self, name):
        """True if the supervisor adds the picture in the file `name` to the answer."""
        import os
        try:
            path = os.path.abspath(name)
            path += "" if os.path.splitext(path)[1] else ".png"
            size = os.stat(path).st_size
        except (TypeError, ValueError, OSError):  # not a file's name
            return False
        if size > MAX_BYTES or not path.startswith(self._folder) or not path.lower().endswith((".png", ".jpg", ".jpeg")):
            return False
        if len(self._files) < MAX_FILES:
            self._files.add(path)
        return path in self._files

    def watch_pil_show(self, image_show):
        """Makes Image.show() collect the picture; PIL would look for a viewer program."""
        def show(image, title=None, **options):
            self._add_pil(image)
            return True

        image_show.show = show

    def take_value(self, value):
        """True if `value` is a picture; then it has been collected."""
        if isinstance(value, bytes):
            for signature, mime in _SIGNATURES:
                if value.startswith(signature):
                    self._add(mime, lambda _: value)
                    return True
            return False
        figure = sys.modules.get("matplotlib.figure")
        if figure is not None and isinstance(value, figure.FigureBase):
            whole = value.figure if isinstance(value, figure.SubFigure) else value
            if _is_empty(whole):
                return False
            if not _is_saved(whole):
                self._add_figure(whole)
            pyplot = sys.modules.get("matplotlib.pyplot")
            if pyplot is not None:
                pyplot.close(whole)
            return True
        image = sys.modules.get("PIL.Image")
        if image is not None and isinstance(value, image.Image):
            self._add_pil(value)
            return True
        return self._take_notebook_picture(value)

    def _take_notebook_picture(self, value):
        """True if `value` has the methods by which notebooks show pictures."""
        for method, mime in (("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg")):
            if not hasattr(type(value), method):
                continue
            try:
                data = getattr(value, method)()
                data = data[0] if type(data) is tuple else data  # (data, metadata)
                if type(data) is str:
                    import binascii
                    data = binascii.a2b_base64(data)
            except Exception as e:
                _note(f"an image could not be made: {type(e).__name__}: {e}")
                continue
            if type(data) is bytes and data.startswith(_SIGNATURES[mime == "image/jpeg"][0]):
                self._add(mime, lambda _, data=data: data)
                return True
        return False

    def take_rest(self):
        """Collects the figures that were neither shown nor saved as a picture."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None and hasattr(pyplot, "get_fignums"):
            self._take_open(pyplot, saved_too=False)
        if self._left_out:
            _note(f"{self._left_out} more images were left out: an answer holds {MAX_COUNT}")

    def _take_open(self, pyplot, saved_too):
        for number in list(pyplot.get_fignums()):
            figure = pyplot.figure(number)
            if not _is_empty(figure) and not (_is_saved(figure) if saved_too else hasattr(figure, "warder_saved")):
                self._add_figure(figure)
            pyplot.close(figure)

    def _add_figure(self, figure):
        def render(scale):
            out = io.BytesIO()
            figure.savefig(out, format="png", dpi=figure.get_dpi() * scale)
            return out.getvalue()

        self._add("image/png", render)

    def _add_pil(self, image):
        def render(scale):
            picture = image
            if scale < 1:
                picture = image.resize((max(1, int(image.width * scale)), max(1, int(image.height * scale))))
            if picture.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I"):
                picture = picture.convert("RGB")
            out = io.BytesIO()
            picture.save(out, format="PNG")
            return out.getvalue()

        self._add("image/png", render)

    def _add(self, mime, render):
        if len(self.found) == MAX_COUNT:
            self._left_out += 1
            return
        try:
            scale, data = 1.0, render(1.0)
            while len(data) > MAX_BYTES and scale > 0.05:
                smaller = min(0.7, 0.9 * (MAX_BYTES / len(data)) ** 0.5)
                before, scale = len(data), scale * smaller
                data = render(scale)
                if len(data) == before:
                    break  # bytes that cannot be scaled
        except Exception as e:
            _note(f"an image could not be made: {type(e).__name__}: {e}")
            return
        if len(data) > MAX_BYTES:
            _note(f"an image of {len(data)} bytes was left out: at most {MAX_BYTES} fit; save it to a file instead")
            return
        if (mime, data) not in self.found:
            self.found.append((mime, data))


def display(values, pictures):
    """Each value as a notebook shows it: a picture beside the answer, else a text on stdout."""
    for value in values:
        if not pictures.take_value(value):
            print(text_of(value))


def text_of(value):
    """The text of a value; if its class has no text of its own, the one that notebooks show."""
    if has_own_text(value):
        return repr(value)
    for method in ("_repr_markdown_", "_repr_html_", "_repr_svg_", "_repr_latex_"):
        if hasattr(type(value), method):
            text = getattr(value, method)()
            text = text[0] if type(text) is tuple else text  # (data, metadata)
            if type(text) is str:
                return text
    return repr(value)


def has_own_text(value):
    kind = type(value)
    return kind.__repr__ is not object.__repr__ or kind.__str__ is not object.__str__


def _is_saved(figure):
    """True if a file of the workspace that is in the answer shows the figure as it is."""
    return hasattr(figure, "warder_saved") and not figure.stale


def _is_empty(figure):
    return len(figure.get_children()) < 2  # the background is always there


def _note(text):
    print(f"warder: {text}", file=sys.stderr)
