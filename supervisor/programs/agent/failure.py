"""Failure: the cause of a failure, as a sentence, and a remedy."""
import enum
import os


class Kind(enum.Enum):
    INVALID = "invalid"  # a mistake of the caller
    UNAVAILABLE = "unavailable"  # warderd or the model's server does not answer; a later attempt may succeed
    OTHER = "other"


class Failure(Exception):
    def __init__(self, kind: Kind, text: str, hint: str = ""):
        super().__init__(text)
        self.kind, self.text, self.hint = kind, text, hint

    def __str__(self) -> str:
        return self.text

    def within(self, context: str) -> "Failure":
        """The same failure, which names where it happened."""
        return Failure(self.kind, f"{context}: {self.text}", self.hint)


def os_failure(error: OSError, subject: str, kind: Kind = Kind.OTHER, hint: str = "") -> Failure:
    """A failed system call: "open '/a': No such file or directory"."""
    return Failure(kind, f"{subject}: {os.strerror(error.errno) if error.errno else error}", hint)
