"""Debian's own Python packages in a jail: each is imported and used for real. .ci/packages installs them for the tests;
where one is missing, its test is skipped.
"""
import base64
import struct
import unittest
from importlib.machinery import PathFinder

from harness import Client, Daemon, body_of

_PLACES = ["/usr/lib/python3/dist-packages"]
_DRAW = "import matplotlib.pyplot as plt\nplt.bar(['a', 'b', 'c'], [3, 1, 2])\nplt.title('Sales')\n"


class Libraries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Daemon())
        cls.client = cls.enterClassContext(Client(cls.daemon.socket))

    def run_with(self, module, code):
        if PathFinder.find_spec(module, _PLACES) is None:
            self.skipTest(f"needs Debian's python3-{module}")
        result = self.client.call("execute_code", {"code": code, "timeout_seconds": 120, "memory_mb": 1000})
        body = body_of(result)
        self.assertTrue(body["success"], body)
        return body, result["content"][1:]

    def value(self, module, code):
        return self.run_with(module, code)[0]["result"]

    def assert_chart(self, content):
        images = [base64.b64decode(block["data"]) for block in content if block["type"] == "image"]
        self.assertEqual(len(images), 1)
        self.assertTrue(images[0].startswith(b"\x89PNG\r\n\x1a\n"))
        width, height = struct.unpack(">II", images[0][16:24])
        self.assertGreater(min(width, height), 200)

    def test_a_chart_that_is_shown_comes_back_as_an_image(self):
        self.assert_chart(self.run_with("matplotlib", _DRAW + "plt.show()")[1])

    def test_a_chart_that_is_saved_comes_back_as_an_image(self):
        body, content = self.run_with("matplotlib", _DRAW + "plt.savefig('sales.png')")
        self.assert_chart(content)
        self.assertEqual(body["files"]["created"], ["sales.png"])
        self.client.call("delete_workspace_file", {"filename": "sales.png"})

    def test_a_chart_that_is_the_answer_comes_back_as_an_image(self):
        self.assert_chart(self.run_with("matplotlib", _DRAW + "plt.gcf()")[1])

    def test_a_chart_of_pandas_comes_back_as_an_image(self):
        if PathFinder.find_spec("matplotlib", _PLACES) is None:
            self.skipTest("needs Debian's python3-matplotlib")
        self.assert_chart(self.run_with("pandas", "import pandas as pd\nimport matplotlib.pyplot as plt\n"
                                                  "pd.DataFrame({'n': [1, 3, 2]}).plot()\nplt.show()")[1])

    def test_pandas_reads_groups_and_answers_with_its_labels(self):
        self.assertEqual(
            self.value("pandas", "import io\nimport pandas as pd\n"
                                 "df = pd.read_csv(io.StringIO('city,n\\nParis,1\\nRome,2\\nParis,3\\n'))\n"
                                 "df.groupby('city').sum()"),
            [{"city": "Paris", "n": 4}, {"city": "Rome", "n": 2}])

    def test_numpy_solves_equations_with_its_linear_algebra(self):
        self.assertEqual(self.value("numpy", "import numpy as np\n"
                                             "np.linalg.solve([[2, 0], [0, 4]], [2, 8]).round(6)"), [1.0, 2.0])

    def test_numpy_without_memory_is_told_the_limit(self):
        if PathFinder.find_spec("numpy", _PLACES) is None:
            self.skipTest("needs Debian's python3-numpy")
        body = body_of(self.client.call("execute_code", {"code": "import numpy as np\nnp.zeros(10**13)"}))
        self.assertEqual(body["outcome"], "memory")
        self.assertIn("Unable to allocate", body["error"])
        self.assertIn("memory_mb", body["error"])

    def test_scipy_finds_a_minimum(self):
        self.assertAlmostEqual(self.value("scipy", "from scipy.optimize import minimize_scalar\n"
                                                   "minimize_scalar(lambda x: (x - 3) ** 2).x"), 3, places=5)

    def test_pil_draws_text_and_answers_with_a_picture(self):
        body, content = self.run_with("PIL", "from PIL import Image, ImageDraw\n"
                                             "image = Image.new('RGB', (300, 250), 'white')\n"
                                             "ImageDraw.Draw(image).text((9, 9), 'text', fill='black')\nimage")
        self.assert_chart(content)

    def test_openpyxl_writes_and_reads_a_workbook(self):
        self.assertEqual(
            self.value("openpyxl", "import io, openpyxl\nbook, out = openpyxl.Workbook(), io.BytesIO()\n"
                                   "book.active.append(['a', 1])\nbook.active['C1'] = '=B1*2'\nbook.save(out)\n"
                                   "[cell.value for cell in openpyxl.load_workbook(out).active[1]]"), ["a", 1, "=B1*2"])

    def test_bs4_and_lxml_read_html(self):
        self.assertEqual(self.value("bs4", "from bs4 import BeautifulSoup\n"
                                           "BeautifulSoup('<ul><li>a<li>b</ul>', 'html.parser').find_all('li')[1].text"),
                         "b")
        self.assertEqual(self.value("lxml", "from lxml import etree, html\n"
                                            "[html.fromstring('<p>a<b>c</b></p>').xpath('//b/text()')[0],"
                                            " etree.tostring(etree.XML('<a><b/></a>')).decode()]"),
                         ["c", "<a><b/></a>"])

    def test_yaml_reads_and_writes(self):
        self.assertEqual(self.value("yaml", "import yaml\n[yaml.safe_load('a: [1, x]'), yaml.safe_dump({'b': 2})]"),
                         [{"a": [1, "x"]}, "b: 2\n"])

    def test_requests_asks_a_server_of_its_own_jail(self):
        self.assertEqual(
            self.value("requests", """
import http.server, threading, requests
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"a": 1}')
    def log_message(self, *arguments): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
requests.get(f"http://127.0.0.1:{server.server_port}/").json()
"""), {"a": 1})


if __name__ == "__main__":
    unittest.main()
