"""The four agent programs: their packages, and how each runs with a scripted model and Warder, without a person.

Each program gets a HOME of its own, the entry that `warder config` prints for it, settings that turn telemetry and
updates off, and a proxy that refuses every host.
"""
import dataclasses
import json
import os
import platform
import subprocess
from typing import Callable

import formats

ARCHITECTURE = "arm64" if platform.machine() == "aarch64" else "x64"
PROMPT = "Follow the script."


@dataclasses.dataclass
class Program:
    client: str  # its name for `warder config`
    package: str
    version: str  # the pinned one
    form: type
    file: str  # below node_modules: this platform's binary, or a .js file for Node.js
    prepare: Callable  # (home, url, entry): writes the configuration; returns the arguments and the environment


def claude_code(home, url, entry):
    (home / "mcp.json").write_text(entry)
    return (["-p", PROMPT, "--mcp-config", home / "mcp.json", "--strict-mcp-config",
             "--allowedTools", "mcp__warder__execute_code"],
            {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "scripted", "DISABLE_AUTOUPDATER": "1",
             "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"})


def codex(home, url, entry):
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text(f"""
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
{entry}
default_tools_approval_mode = "approve"
""")
    return ["exec", "--skip-git-repo-check", PROMPT], {}


def opencode(home, url, entry):
    model = {"name": "scripted", "attachment": True, "tool_call": True, "limit": {"context": 200000, "output": 8000},
             "modalities": {"input": ["text", "image"], "output": ["text"]}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": {"scripted": model},
                "options": {"baseURL": f"{url}/v1", "apiKey": "scripted"}}
    (home / "project/opencode.json").write_text(json.dumps(
        {**json.loads(entry), "provider": {"scripted": provider}, "model": "scripted/scripted", "autoupdate": False,
         "share": "disabled"}))
    return ["run", "--auto", PROMPT], {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def gemini(home, url, entry):
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text(json.dumps(
        {**json.loads(entry), "general": {"enableAutoUpdate": False}, "telemetry": {"enabled": False},
         "privacy": {"usageStatisticsEnabled": False}, "security": {"auth": {"selectedType": "gemini-api-key"}}}))
    return (["--yolo", "--skip-trust", "--model", "gemini-2.5-pro", "-p", PROMPT],
            {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "scripted"})


PROGRAMS = [
    Program("claude-code", "@anthropic-ai/claude-code", "2.1.197", formats.AnthropicMessages,
            f"@anthropic-ai/claude-code-linux-{ARCHITECTURE}/claude", claude_code),
    Program("codex", "@openai/codex", "0.171.0", formats.OpenaiResponses, "@openai/codex/bin/codex.js", codex),
    Program("opencode", "opencode-ai", "1.18.33", formats.OpenaiChat,
            f"opencode-linux-{ARCHITECTURE}/bin/opencode", opencode),
    Program("gemini", "@google/gemini-cli", "0.61.0", formats.Gemini, "@google/gemini-cli/bundle/gemini.js", gemini),
]


def command_of(program, modules, node):
    """The words that start the installed program. No package's own scripts ran, so its name in .bin may not work."""
    return [*([node] if program.file.endswith(".js") else []), modules / program.file]


def run(program, command, home, url, warder, socket):
    """Runs the program to its end, for at most 120 s. Returns its exit status (124: the time was over) and output."""
    (home / "project").mkdir()
    entry = subprocess.check_output([warder, "config", program.client, "--socket", socket], stderr=subprocess.DEVNULL,
                                    text=True)
    arguments, environment = program.prepare(home, url, entry)
    environment |= {"PATH": f"{os.path.dirname(command[0])}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8",
                    "HTTP_PROXY": url, "HTTPS_PROXY": url, "NO_PROXY": "127.0.0.1"}
    with open(home / "output", "wb") as output:
        ended = subprocess.run(["timeout", "--kill-after=5", "120", *command, *arguments], cwd=home / "project",
                               env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    return ended.returncode, (home / "output").read_text(errors="replace")
