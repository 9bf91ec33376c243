"""The conversation with a model, in no provider's form: the messages of the user, the model and the tools."""
import dataclasses
import functools
from typing import Any

from .failure import Failure
from .json_text import parse_json


@dataclasses.dataclass
class ToolRequest:
    """A call that the model asks for."""
    id: str
    name: str
    arguments: str = ""  # as the model wrote them: JSON, if the model made no mistake

    @functools.cached_property  # each request to the model has the whole conversation again
    def arguments_object(self) -> dict[str, Any]:
        """Empty if they are no object: providers refuse other values in the history of a conversation. Do not change
        it."""
        try:
            value = parse_json(self.arguments)
        except Failure:
            return {}
        return value if isinstance(value, dict) else {}


@dataclasses.dataclass
class ToolAnswer:
    id: str
    name: str
    text: str
    is_error: bool = False


@dataclasses.dataclass
class ShownTool:
    """A tool as the model sees it, and tools/list of the daemon has it."""
    name: str
    description: str
    schema: Any  # of the arguments


@dataclasses.dataclass
class TokenUsage:
    read: int = 0
    written: int = 0
    is_known: bool = False  # the server reported it


@dataclasses.dataclass
class ModelReply:
    text: str = ""
    requests: list[ToolRequest] = dataclasses.field(default_factory=list)
    usage: TokenUsage = dataclasses.field(default_factory=TokenUsage)
    is_cut: bool = False  # the model reached the bound of one reply


# The kinds of messages follow each other: user, model, tools, model, tools, ..., model.
@dataclasses.dataclass
class UserMessage:
    text: str


@dataclasses.dataclass
class ModelMessage:
    text: str
    requests: list[ToolRequest]


@dataclasses.dataclass
class ToolsMessage:
    answers: list[ToolAnswer]  # one for each request of the message before


Message = UserMessage | ModelMessage | ToolsMessage
