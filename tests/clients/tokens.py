"""What texts cost an agent's context: counted by a public tokenizer, offline."""
import json
import subprocess

from harness import CLIENTS, NODE


def compact(value):
    """JSON as it goes over the wire."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def tokens_of(*texts):
    """The number of tokens of each text."""
    counted = subprocess.run([NODE, CLIENTS / "count_tokens.mjs"], input="".join(json.dumps(text) + "\n" for text in texts),
                             capture_output=True, text=True, timeout=120, check=True)
    numbers = [int(line) for line in counted.stdout.split()]
    assert len(numbers) == len(texts)
    return numbers
