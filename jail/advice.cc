#include "jail/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "supervisor/base/ascii.h"
#include "supervisor/base/text_lines.h"

namespace jail {
namespace {

constexpr std::string_view kNoNetwork =
    "this jail has no network; search_tools finds upstream tools, which reach other machines";
constexpr std::string_view kByProxy =
    "this jail reaches only the hosts that the egress rules of its policy name, through the proxy in HTTPS_PROXY and "
    "HTTP_PROXY; an administrator sees with `warder policy explain --host NAME` which rule decides";
constexpr std::string_view kNothingInstalled =
    "packages cannot be installed: this jail has no network. Use the installed packages, or find upstream tools with "
    "search_tools";
constexpr std::string_view kNeedsVenv =
    "install into a virtual environment: `python3 -m venv /workspace/venv`, then `/workspace/venv/bin/pip install "
    "NAME`";
constexpr std::string_view kNoSharedMemory =
    "memfd_create, shmget and mmap of shared memory without a file are refused here, because no cgroup counts this "
    "kind of memory; map a file in /dev/shm or /tmp";

// Messages of installers that cannot reach their package index: pip, venv, npm, yarn, apt, cargo and go.
constexpr std::string_view kOfInstallers[] = {"externally-managed-environment",
                                              "No matching distribution found",
                                              "Could not find a version that satisfies",
                                              "No module named pip",
                                              "ENOTCACHED",
                                              "cache mode is 'only-if-cached'",
                                              "Unable to locate package",
                                              "module lookup disabled by GOPROXY=off"};
// Messages of a Python into which pip must not install.
constexpr std::string_view kOfManaged[] = {"externally-managed-environment", "No module named pip"};
// Names of package indexes and of their files. Other programs print these, too: they count only on a line with a
// failure.
constexpr std::string_view kOfIndexes[] = {"registry.npmjs.org", "registry.yarnpkg.com", "pypi.org",
                                           "/var/lib/dpkg/lock", "/var/lib/apt/lists",   "index.crates.io",
                                           "static.crates.io",   "proxy.golang.org"};
constexpr std::string_view kFailures[] = {"fail",   "error",  "err!",    "could not", "couldn't", "cannot",   "can't",
                                          "unable", "denied", "refused", "timed out", "missing",  "read-only"};
// Messages of the C library, Python, Node, curl, wget and git when there is no network.
constexpr std::string_view kOfNetworks[] = {"Name or service not known",
                                            "Temporary failure in name resolution",
                                            "Temporary failure resolving",
                                            "Network is unreachable",
                                            "No route to host",
                                            "No address associated with hostname",
                                            "nodename nor servname",
                                            "Failed to establish a new connection",
                                            "NameResolutionError",
                                            "Could not resolve host",
                                            "Could not resolve proxy",
                                            "Could not resolve hostname",
                                            "unable to resolve host",
                                            "unable to look up",
                                            "getaddrinfo",
                                            "fetch failed",
                                            "ENOTFOUND",
                                            "EAI_AGAIN",
                                            "queryA ECONNREFUSED",
                                            "queryAaaa ECONNREFUSED",
                                            "ENETUNREACH"};
constexpr std::string_view kMakesSharedMemory[] = {"mmap", "memfd_create", "shmget", "sysv_ipc"};
// The texts of EPERM, ENOSYS and ENODEV. ENODEV is the answer to a mapping of /dev/zero.
constexpr std::string_view kOfRefusedMemory[] = {"Operation not permitted", "Function not implemented",
                                                 "No such device"};

struct Culprit {
  std::string_view word;  // in the code
  std::string_view call, rule;
};
constexpr Culprit kCulprits[] = {
    {"umount", "umount2", "changes the mount tree"},
    {"mount", "mount", "changes the mount tree"},
    {"pivot_root", "pivot_root", "changes the mount tree"},
    {"fsopen", "fsopen", "changes the mount tree"},
    {"open_tree", "open_tree", "changes the mount tree"},
    {"bpf", "bpf", "loads code into the kernel"},
    {"insmod", "init_module", "loads code into the kernel"},
    {"modprobe", "init_module", "loads code into the kernel"},
    {"init_module", "init_module", "loads code into the kernel"},
    {"kexec", "kexec_load", "loads code into the kernel"},
    {"swapon", "swapon", "stops the machine or its swap"},
    {"swapoff", "swapoff", "stops the machine or its swap"},
    {"reboot", "reboot", "stops the machine or its swap"},
    {"shutdown", "reboot", "stops the machine or its swap"},
};

template <typename List>
bool has_one_of(std::string_view text, const List& words) {
  return std::any_of(std::begin(words), std::end(words), [&](std::string_view w) { return text.find(w) != text.npos; });
}

bool is_name_letter(char c) { return is_letter(c) || c == '_'; }

// True if the text has `word` as a whole word: "mount" is not found in "amount".
bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = 0; (at = text.find(word, at)) != text.npos; at++) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_name_letter(text[at - 1])) && (end == text.size() || !is_name_letter(text[end]))) return true;
  }
  return false;
}

// True if a line names a package index and, anywhere on the same line, a failure.
bool misses_index(std::string_view text) {
  while (const auto line = take_line(text))
    if (has_one_of(*line, kOfIndexes) && has_one_of(lower_case(*line), kFailures)) return true;
  return false;
}

// Whether a line is a statement of Python and no command.
bool is_python(std::string_view line) {
  if (line.starts_with("def ") || line.starts_with("class ") || line.starts_with("print(") ||
      line.starts_with("from ") || line.starts_with("async def "))
    return line.find('(') != line.npos || line.find(" import ") != line.npos || line.ends_with(':');
  if (line.starts_with("if __name__")) return true;
  if (!line.starts_with("import ")) return false;
  return line.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_., ") == line.npos;
}

bool is_javascript(std::string_view line) {
  if (line.starts_with("const ") || line.starts_with("let ") || line.starts_with("var "))
    return line.find(" = ") != line.npos;  // `let x=5` is bash
  return line.starts_with("console.log(") || line.starts_with("await ") || line.starts_with("async function ") ||
         (line.starts_with("function ") && line.find('(') != line.npos && line.ends_with('{') &&
          line.find("()") == line.npos) ||
         (line.starts_with("import ") && line.find(" from ") != line.npos);
}

}  // namespace

std::string shell_language_advice(std::string_view text, std::string_view code) {
  constexpr std::string_view kOfOtherLanguages[] = {
      "command not found",        ": not found", "syntax error", "unexpected token", "unable to open X server",
      "missing an image filename"};
  constexpr std::string_view kTypographic[] = {"\xe2\x80\x9c", "\xe2\x80\x9d", "\xe2\x80\x93",
                                               "\xe2\x80\x94"};  // double quotes, dashes
  // The next lines may be a text for this program.
  constexpr std::string_view kTakesText[] = {"<<", "python", "node", " -c ", " -e "};
  constexpr size_t kMaxLines = 400;
  if (has_one_of(text, kOfOtherLanguages)) {
    std::string_view rest = code;
    for (size_t i = 0; i < kMaxLines && !rest.empty(); i++) {
      std::string_view line = *take_line(rest);
      line = line.substr(0, line.find_last_not_of(" \t;") + 1);
      if (has_one_of(line, kTakesText)) break;
      if (is_python(line)) return "this looks like Python: call execute_code with language=\"python\"";
      if (is_javascript(line)) return "this looks like JavaScript: call execute_code with language=\"javascript\"";
    }
  }
  // Bash and most commands repeat the word at which they failed.
  if (has_one_of(text, kTypographic) && has_one_of(code, kTypographic))
    return "the code has typographic quotes or dashes: write plain \" and -";
  return {};
}

std::string network_advice(std::string_view text, Network network) {
  const bool is_installing = has_one_of(text, kOfInstallers) || misses_index(text);
  if (!is_installing && !has_one_of(text, kOfNetworks)) return "";
  if (network == Network::by_proxy) return std::string(has_one_of(text, kOfManaged) ? kNeedsVenv : kByProxy);
  return std::string(is_installing ? kNothingInstalled : kNoNetwork);
}

std::string shared_memory_advice(std::string_view text, std::string_view code) {
  if (!has_one_of(text, kOfRefusedMemory) || !has_one_of(code, kMakesSharedMemory)) return "";
  return std::string(kNoSharedMemory);
}

std::string forbidden_call_advice(std::string_view code) {
  for (const Culprit& culprit : kCulprits)
    if (has_word(code, culprit.word))
      return fmt::format("probably {}, which {} (the code names it; the kernel does not name the call)", culprit.call,
                         culprit.rule);
  return "one of mount and related calls, bpf, loading of kernel modules, kexec, reboot, swapon, or a call of "
         "another architecture; the kernel does not tell which";
}

}  // namespace jail
