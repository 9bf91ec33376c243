"""Figures and pictures of the jailed code as PNG: shown ones, open ones, and those that are the answer.

Imports no library: matplotlib and PIL are loaded only if the code has loaded them.
"""
import io
import sys

MAX_COUNT = 8
MAX_BYTES = 1 << 20
_SIGNATURES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"))


class Images:
    """Collects pictures in the order of showing; more than MAX_COUNT or too large ones are left out, with a note."""

    def __init__(self):
        self.forget()

    def forget(self):
        """Clears the pictures, for the next order of a session."""
        self.found = []  # (mime, bytes)
        self._left_out = 0

    def watch_pyplot(self, pyplot):
        """Makes plt.show() and Figure.show() collect the figure; the Agg backend would only print a warning."""
        from matplotlib.figure import Figure
        save = Figure.savefig

        def show(*args, **kwargs):
            self._take_open(pyplot, saved_too=True)

        def show_one(figure, warn=True):
            self._add_figure(figure)
            pyplot.close(figure)

        def savefig(figure, fname, **kwargs):
            answer = save(figure, fname, **kwargs)
            if str(fname).lower().endswith((".png", ".jpg", ".jpeg")):
                figure.warder_saved = True  # the file is in the workspace, so a second copy is not needed
            return answer

        pyplot.show = show
        Figure.show = show_one
        Figure.savefig = savefig

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
            self._add_figure(whole)
            pyplot = sys.modules.get("matplotlib.pyplot")
            if pyplot is not None:
                pyplot.close(whole)
            return True
        image = sys.modules.get("PIL.Image")
        if image is not None and isinstance(value, image.Image):
            self._add_pil(value)
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
            if not _is_empty(figure) and (saved_too or not hasattr(figure, "warder_saved")):
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
        self.found.append((mime, data))


def _is_empty(figure):
    return len(figure.get_children()) < 2  # the background is always there


def _note(text):
    print(f"warder: {text}", file=sys.stderr)
