// Run: `warder run`, one execution over warderd's socket, for people and scripts. It speaks MCP 2026-07-28: one
// request, no handshake. Ctrl-C cancels the execution. Used by: arguments.cc.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"
#include "supervisor/programs/cli/socket.h"

namespace cli {

// The exit status. A program's own status is passed on; the other numbers are those of timeout(1) and of shells.
inline constexpr int kExitError = 1;  // the program ended by an error of its own, or was refused
inline constexpr int kExitUsage = 2;
inline constexpr int kExitTimeout = 124;
inline constexpr int kExitUnavailable = 125;  // warderd did not answer; whether the program ran is unknown
inline constexpr int kExitCancelled = 130;    // 128 + SIGINT
inline constexpr int kExitMemory = 137;       // 128 + SIGKILL, as a shell shows the out-of-memory killer

enum class RunPrint { text, json };
enum class ReceiptPrint { no, yes };

struct RunOptions {
  std::string code;
  std::string language;  // "python", "javascript", "typescript", "shell"
  std::optional<double> timeout_seconds;
  std::optional<double> memory_mb;
  std::vector<std::pair<std::string, std::string>> context;  // name, JSON or plain text
  std::string workflow;  // of the program; deleted when the program has succeeded; empty: absent
  RunPrint print = RunPrint::text;
  ReceiptPrint receipt = ReceiptPrint::no;
};

// The language for the extension of the file's name; python for any other extension.
std::string language_of(std::string_view file);
// "k=v". Errors: invalid.
Result<std::pair<std::string, std::string>> parse_context(std::string_view text);
// The tools/call request, one line.
std::string run_request(const RunOptions& options, int64_t id);
// The exit status that an answer of execute_code stands for.
int exit_status(const Json& answer);

// Errors: unavailable (no daemon, or the connection ended), and warderd's refusals, in its words.
Result<int> run_code(const SocketPath& socket, const RunOptions& options);

}  // namespace cli
