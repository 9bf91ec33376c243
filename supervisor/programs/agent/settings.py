"""The settings of `warder agent`, checked: the model, its key, and the bounds of a run. They come from the command
line, the environment and a systemd credential. Raises Failure: invalid, with the flag or the variable; never with the
key."""
import dataclasses
import os
import re

from .failure import Failure, Kind, os_failure
from .files import read_complete
from .urls import Url, is_loopback, parse_url

MAX_SECRET_BYTES = 8 << 10


@dataclasses.dataclass
class Arguments:
    """The command line, as `warder` passes it: each flag as it was written; empty: not given."""
    command: str  # "run", or empty
    version: str
    socket: str  # of warderd
    start_hint: str  # the remedy if no daemon listens there
    provider: str
    base_url: str
    model: str
    max_turns: str
    max_tokens: str
    max_seconds: str
    max_cost: str
    price_in: str
    price_out: str
    max_errors: str
    retries: str
    retry_pause: str
    listen: str
    token_file: str
    tasks: str
    task: str
    file: str
    resume: str
    workspace: str
    json: str


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The ends of a run. 0: no bound, where the comment says so."""
    turns: int
    tokens: int  # read and written in all turns; 0: no bound
    cost: float  # 0: no bound
    seconds: float  # of the run
    errors: int  # failed calls in a row
    retries: int  # of one request to the model
    retry_pause: float  # seconds; each further pause is twice as long


@dataclasses.dataclass(frozen=True)
class Settings:
    provider: str
    base_url: str  # without a slash at its end
    url: Url  # the same, in its parts
    model: str
    key: str  # empty: requests have no key
    bounds: Bounds
    price_in: float  # of a million tokens
    price_out: float
    tasks: int  # that --listen runs at one time


class _Amounts:
    """Numbers of flags."""

    def __init__(self, arguments: Arguments):
        self._arguments = arguments

    def amount(self, flag: str, unit: str, least: float, most: float, default: float, example: str) -> float:
        text = getattr(self._arguments, flag[2:].replace("-", "_"))
        if not text:
            return default
        try:
            value = float(text) if re.fullmatch("[0-9.eE+-]+", text) else None
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise Failure(Kind.INVALID, f"{flag}: '{text[:64]}' is not a number of {unit} from {least:.10g} to "
                          f"{most:.10g}", f"for example: {flag} {example}")
        return value

    def number(self, flag: str, unit: str, least: float, most: float, default: int, example: str) -> int:
        value = self.amount(flag, unit, least, most, default, example)
        if value != int(value):
            text = getattr(self._arguments, flag[2:].replace("-", "_"))
            raise Failure(Kind.INVALID, f"{flag}: '{text}' is not a whole number")
        return int(value)


def read_settings(arguments: Arguments) -> Settings:
    base_url, url = _read_base_url(arguments)
    model = arguments.model or os.environ.get("LLM_MODEL", "")
    if not model:
        raise Failure(Kind.INVALID, "no model is named", "give --model NAME, or set LLM_MODEL")
    key = _read_key()
    if key and not url.is_secure and not is_loopback(url.host):
        raise Failure(Kind.INVALID, f"the key of the model's API would cross the network unencrypted to {url.host}",
                      "give a --base-url that begins with https://")
    flags = _Amounts(arguments)
    bounds = Bounds(
        turns=flags.number("--max-turns", "turns", 1, 1000, 20, "20"),
        tokens=flags.number("--max-tokens", "tokens", 1, 1e12, 0, "200000"),
        seconds=flags.amount("--max-seconds", "seconds", 0.1, 604800, 600, "600"),
        cost=flags.amount("--max-cost", "money", 1e-6, 1e9, 0, "0.50"),
        errors=flags.number("--max-errors", "calls", 1, 1000, 5, "5"),
        retries=flags.number("--retries", "retries", 0, 100, 5, "5"),
        retry_pause=flags.amount("--retry-pause", "seconds", 0.001, 60, 1, "1"))
    price_in = flags.amount("--price-in", "money", 0, 1e9, 0, "2.50")
    price_out = flags.amount("--price-out", "money", 0, 1e9, 0, "10")
    if bounds.cost > 0 and price_in + price_out <= 0:
        raise Failure(Kind.INVALID, "--max-cost: the prices of tokens are not known",
                      "give --price-in and --price-out, for a million tokens")
    return Settings(arguments.provider or "openai", base_url, url, model, key, bounds, price_in, price_out,
                    flags.number("--tasks", "tasks", 1, 256, 4, "4"))


def _read_base_url(arguments: Arguments) -> tuple[str, Url]:
    text = arguments.base_url or os.environ.get("LLM_BASE_URL", "")
    if not text:
        text = "https://api.anthropic.com" if arguments.provider == "anthropic" else "https://api.openai.com/v1"
    text = text.rstrip("/")
    try:
        return text, parse_url(text)
    except Failure as failure:
        raise failure.within("--base-url" if arguments.base_url else "LLM_BASE_URL") from None


def _read_key() -> str:
    """Empty: there is no key. Servers on this machine often ask for no key."""
    key, folder = os.environ.get("LLM_API_KEY", ""), os.environ.get("CREDENTIALS_DIRECTORY", "")
    file = f"{folder}/llm-api-key"
    if folder and os.path.exists(file):
        key = read_secret_file(file, "the credential llm-api-key")
    if len(key) > MAX_SECRET_BYTES or not is_word(key):
        raise Failure(Kind.INVALID, "the key of the model's API ($LLM_API_KEY or the credential llm-api-key) is not "
                      "one word", "give the key alone, without quotes")
    return key


def is_word(text: str) -> bool:
    return re.fullmatch("[!-~]*", text) is not None


def without_key(text: str, key: str) -> str:
    """A server may repeat the key in an error."""
    return text.replace(key, "[key]") if key else text


def read_secret_file(path: str, name: str) -> str:
    """A small file that holds a secret, without the blanks around it. `name`: for errors."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise os_failure(error, f"{name}: open '{path}'", Kind.INVALID) from None
    with open(descriptor, "rb", buffering=0) as file:
        return read_complete(file, MAX_SECRET_BYTES, name).strip(b" \t\r\n").decode("latin-1")
