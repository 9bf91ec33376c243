"""Figures and pictures: those of libraries are skipped where the library is missing."""
import base64
import os
import shutil
import unittest

from driver import GuestTest

IPYTHON = shutil.which("ipython3")


class PythonTest(GuestTest):
    language = "python"


class Pictures(PythonTest):
    PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 20

    def run_with(self, library, code):
        """Runs `code` with a library that this machine may not have; WARDER_TEST_PYTHON_PATH may name its folder."""
        path = os.environ.get("WARDER_TEST_PYTHON_PATH")
        prefix = f"import sys; sys.path.append({path!r})\n" if path else ""
        environment = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "MATPLOTLIBRC") if name in os.environ}
        environment["MPLCONFIGDIR"] = self.workspace
        if self.run_code(f"{prefix}import {library}", environment=environment).error:
            self.skipTest(f"needs python3-{library}")
        end = self.run_code(prefix + code, environment=environment)
        self.assertIsNone(end.error, end)
        return end

    def test_a_png_as_the_answer_is_an_image(self):
        end = self.run_code(f"result = {self.PNG!r}")
        self.assertEqual([(i["mime"], base64.b64decode(i["data"])) for i in end.images], [("image/png", self.PNG)])
        self.assertNotIn("value", end.message)

    def test_an_image_that_is_too_large_is_left_out_with_a_word(self):
        end = self.run_code(f"result = {self.PNG!r} + bytes(2_000_000)")
        self.assertIsNone(end.images)
        self.assertIn("2000028 bytes was left out", end.stderr)

    def test_what_notebooks_show_as_a_picture_is_one(self):
        for code in (f"class P:\n    def _repr_png_(self): return {self.PNG!r}\nP()",
                     f"class P:\n    def _repr_png_(self): return {self.PNG!r}\ndisplay(P())",
                     f"class P:\n    def _repr_png_(self): return {base64.b64encode(self.PNG).decode()!r}, {{}}\ndisplay(P(), P())",
                     f"display({self.PNG!r})\nresult = {self.PNG!r}"):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertEqual([(i["mime"], base64.b64decode(i["data"])) for i in end.images], [("image/png", self.PNG)])
                self.assertEqual((end.stdout, end.value), ("", None))

    def test_display_prints_what_is_no_picture(self):
        end = self.run_code("class H:\n    def _repr_html_(self): return '<b>h</b>'\nclass M:\n    def _repr_png_(self): 1/0\n"
                            "display('text', [1], H(), exclude=['x'])\ndisplay()\ndisplay(M())\nresult = H()")
        self.assertEqual((end.error, end.value), (None, "<b>h</b>"))
        self.assertTrue(end.stdout.startswith("'text'\n[1]\n<b>h</b>\n<__main__.M object"), end.stdout)
        self.assertIn("an image could not be made: ZeroDivisionError", end.stderr)

    def test_code_that_was_written_for_a_notebook_runs(self):
        self.write("p.png", self.PNG)
        end = self.run_code("from IPython.display import HTML, Image, Markdown, display, clear_output\nimport IPython\n"
                            "IPython.display.display(Image('p.png'))\nclear_output()\n"
                            "display(Markdown('# t'), HTML('<b>x</b>'))\nImage(data=open('p.png', 'rb').read())")
        if IPYTHON is None:
            self.assertEqual((end.error, len(end.images), end.stdout), (None, 1, "# t\n<b>x</b>\n"))
        self.write("IPython/__init__.py", "mine = 1")
        self.assertEqual(self.value_of("import IPython\nIPython.mine") if IPYTHON is None else 1, 1)

    def test_pil_images_shown_or_answered_come_back(self):
        end = self.run_with("PIL", "from PIL import Image\nImage.new('RGB', (20, 10), 'red').show()\n"
                                   "result = Image.new('CMYK', (5, 5))")
        self.assertEqual([i["mime"] for i in end.images], ["image/png"] * 2)
        self.assertNotIn("value", end.message)

    def test_a_large_picture_is_made_smaller_and_only_eight_are_kept(self):
        end = self.run_with("PIL", "from PIL import Image\nimport os\n"
                                   "Image.frombytes('RGB', (1200, 800), os.urandom(2_880_000)).show()\n"
                                   "for _ in range(10):\n    Image.new('L', (4, 4), _).show()")
        self.assertEqual(len(end.images), 8)
        self.assertLessEqual(len(end.images[0]["data"]), (1 << 20) * 4 // 3 + 4)
        self.assertGreater(len(end.images[0]["data"]), 300_000)
        self.assertIn("3 more images were left out", end.stderr)

    def test_figures_shown_left_open_or_answered_come_back_once(self):
        draw = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
        for code, count in ((draw + "plt.show()", 1), (draw, 1), (draw + "result = plt.gcf()", 1),
                            (draw + "plt.gcf().show()", 1), (draw + "plt.savefig('f.png')", 0),
                            # The supervisor adds files of the workspace.
                            (draw + "plt.savefig('f.png'); plt.show()", 0), (draw + "plt.savefig('f'); plt.gcf().show()", 0),
                            (draw + "plt.savefig('f.png')\nresult = plt.gcf()", 0),
                            (draw + "plt.savefig('f.png'); plt.title('changed'); plt.show()", 1),
                            (draw + "plt.savefig('/tmp/warder-f.png'); plt.show()", 1),
                            (draw + "import io; plt.savefig(io.BytesIO(), format='png')", 1),
                            (draw + "display(plt.gcf())\nplt.gcf()", 1), (draw + "f = plt.gcf()\ndisplay(f)\nf", 1), (draw + "plt.savefig('f.pdf')", 1),
                            (draw + "plt.show()\nplt.figure(); plt.plot([3])\nplt.show()", 2),
                            ("import matplotlib.pyplot as plt\nplt.figure()", 0)):
            with self.subTest(code=code):
                end = self.run_with("matplotlib", code)
                self.assertEqual(len(end.images or []), count)
                self.assertEqual(end.stderr, "")


if __name__ == "__main__":
    unittest.main()
