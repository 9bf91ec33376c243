"""python3 -m suite TEST...: as unittest -v, and each test's seconds: emulation is slow, and a lane's time is watched."""
import time
import unittest


class TimedResult(unittest.TextTestResult):
    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        self.stream.writeln(f"    {time.monotonic() - self.began:.1f} s")
        super().stopTest(test)


unittest.main(module=None, verbosity=2, testRunner=unittest.TextTestRunner(verbosity=2, resultclass=TimedResult))
