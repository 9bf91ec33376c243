"""Files and pipes, read with a bound."""
import os
import pathlib
import tempfile
import unittest

import agent_modules  # noqa: F401
from agent.failure import Failure, Kind
from agent.files import read_complete


class Files(unittest.TestCase):
    def failure_of(self, file, max_bytes):
        with self.assertRaises(Failure) as caught:
            read_complete(file, max_bytes, "--file")
        return caught.exception

    def test_a_file_is_read_up_to_its_bound(self):
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "task"
        path.write_bytes(b"x" * 100_000)
        with path.open("rb", buffering=0) as file:
            self.assertEqual(read_complete(file, 100_000, "--file"), b"x" * 100_000)
            file.seek(0)
            self.assertEqual(self.failure_of(file, 99_999).text, "--file: the file has more than 99999 bytes")

    def test_half_of_a_pipe_that_does_not_wait_is_no_task(self):
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        with open(reader, "rb", buffering=0) as file, open(writer, "wb", buffering=0) as rest:
            rest.write(b"Delete the files of")
            failure = self.failure_of(file, 100)
            self.assertEqual((failure.kind, failure.text[:27]), (Kind.OTHER, "--file: more data may come,"))
            self.assertIn("through a pipe", failure.hint)
            rest.write(b"all")
            rest.close()
            self.assertEqual(read_complete(file, 100, "--file"), b"all")


if __name__ == "__main__":
    unittest.main()
