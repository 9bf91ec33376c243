#include "jail/advice.h"

#include "tests/catch.h"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

TEST_CASE("what programs say without a network leads to a sentence about the network", "[jail]") {
  auto text = GENERATE(as<std::string>{}, "socket.gaierror: [Errno -2] Name or service not known",
                       "curl: (6) Could not resolve host: example.com", "TypeError: fetch failed",
                       "Error: getaddrinfo EAI_AGAIN example.com", "OSError: [Errno 101] Network is unreachable",
                       "fatal: unable to access 'https://x/': Could not resolve host: x",
                       "wget: unable to resolve host address 'x'",
                       "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='x', port=443): Failed to "
                       "establish a new connection",
                       "ssh: Could not resolve hostname x: Name or service not known");
  CAPTURE(text);
  CHECK_THAT(jail::network_advice(text, jail::Network::none), StartsWith("this jail has no network"));
  CHECK_THAT(jail::network_advice(text, jail::Network::none), Contains("search_tools"));
  CHECK_THAT(jail::network_advice(text, jail::Network::by_proxy), StartsWith("this jail reaches only the hosts"));
}

TEST_CASE("what installers say without their index leads to a sentence about installing", "[jail]") {
  auto text = GENERATE(as<std::string>{}, "error: externally-managed-environment",
                       "ERROR: No matching distribution found for x", "/usr/bin/python3: No module named pip",
                       "npm ERR! code ENOTCACHED", "E: Unable to locate package x",
                       "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)",
                       "go: x: module lookup disabled by GOPROXY=off",
                       "npm ERR! request to https://registry.npmjs.org/left-pad failed, reason: x",
                       "E: List directory /var/lib/apt/lists/partial is missing.",
                       "a line\nerror: failed to download https://index.crates.io/config.json\nanother");
  CAPTURE(text);
  CHECK_THAT(jail::network_advice(text, jail::Network::none),
             StartsWith("packages cannot be installed: this jail has no network"));
}

TEST_CASE("with a proxy, pip's refusal to install leads to a virtual environment", "[jail]") {
  CHECK_THAT(jail::network_advice("error: externally-managed-environment", jail::Network::by_proxy),
             Contains("-m venv"));
  CHECK_THAT(jail::network_advice("npm ERR! code ENOTCACHED", jail::Network::by_proxy), Contains("egress rules"));
}

TEST_CASE("other errors lead to no advice", "[jail]") {
  auto text = GENERATE(as<std::string>{}, "", "ZeroDivisionError: division by zero", "ls: cannot access 'x'",
                       "ValueError: the network of stations is small", "ConnectionRefusedError: [Errno 111]",
                       "index: pypi.org", "docs: https://pypi.org/project/x\nKeyError: 'x'",
                       "registry.npmjs.org is in package-lock.json", "ls /var/lib/apt/lists");
  CAPTURE(text);
  CHECK(jail::network_advice(text, jail::Network::none).empty());
}

TEST_CASE("a forbidden call is guessed from the words of the code, and the guess says so", "[jail]") {
  CHECK_THAT(jail::forbidden_call_advice("swapoff -a"), StartsWith("probably swapoff, which stops the machine"));
  CHECK_THAT(jail::forbidden_call_advice("libc.mount(b'x')"),
             StartsWith("probably mount, which changes the mount tree"));
  CHECK_THAT(jail::forbidden_call_advice("umount /proc"), StartsWith("probably umount2"));
  for (const char* code : {"amount = 5", "discount(mounted)", ""}) {
    CAPTURE(code);
    CHECK_THAT(jail::forbidden_call_advice(code), StartsWith("one of mount and related calls"));
    CHECK_THAT(jail::forbidden_call_advice(code), Contains("the kernel does not tell which"));
  }
}

TEST_CASE("refused shared memory leads to a sentence about files", "[jail]") {
  constexpr const char* kRefused = "PermissionError: [Errno 1] Operation not permitted";
  CHECK_THAT(jail::shared_memory_advice(kRefused, "import mmap; mmap.mmap(-1, 4096)"), Contains("/dev/shm"));
  CHECK_THAT(jail::shared_memory_advice("OSError: [Errno 38] Function not implemented", "os.memfd_create('x')"),
             Contains("/dev/shm"));
  CHECK(jail::shared_memory_advice(kRefused, "os.setxattr('x', 'user.y', b'')").empty());
  CHECK(jail::shared_memory_advice("ValueError: x", "import mmap").empty());
}

TEST_CASE("a shell program in another language leads to a sentence about the language", "[jail]") {
  const auto [code, words] =
      GENERATE(table<std::string, std::string>({{"import os\nprint(os.getcwd())", "language=\"python\""},
                                                {"x = 1\nfrom datetime import date", "language=\"python\""},
                                                {"def f(x):\n    return x", "language=\"python\""},
                                                {"const x = 1;\nconsole.log(x);", "language=\"javascript\""},
                                                {"import fs from 'fs';", "language=\"javascript\""}}));
  CAPTURE(code);
  CHECK_THAT(jail::shell_language_advice("execution: line 1: x: command not found", code), Contains(words));
  CHECK(jail::shell_language_advice("cat: x: Permission denied", code).empty());
}

TEST_CASE("a failed shell program leads to no sentence about its language", "[jail]") {
  const auto code = GENERATE(as<std::string>{}, "python3 - <<'EOF'\nimport os\nEOF\nnothing", "node -e '\nconst x = 1'",
                             "let x=5\nnothing", "f() {\n  ls\n}\nnothing", "import shot.png --window root");
  CAPTURE(code);
  CHECK(jail::shell_language_advice("nothing: command not found", code).empty());
}

TEST_CASE("typographic characters at which a shell failed lead to a sentence about them", "[jail]") {
  CHECK_THAT(jail::shell_language_advice("\xe2\x80\x9cls\xe2\x80\x9d: command not found", "\xe2\x80\x9cls\xe2\x80\x9d"),
             Contains("typographic"));
  CHECK(jail::shell_language_advice("x: No such file", "echo '\xe2\x80\x9c'; cat x").empty());
}
