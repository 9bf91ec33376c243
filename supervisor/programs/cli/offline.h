// Offline answers: the proxy's answers while no daemon can be reached, and for calls that a lost connection cut off.
// An agent cannot mend "Connection closed", but it can show its user the command that starts the daemon.
// Used by: relay.cc. The functions are pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/programs/cli/envelope.h"

namespace cli {

// Which revision of the protocol an answer is written for.
enum class ProtocolEra { legacy, modern };

// Why no daemon can be reached, and the remedy.
struct Trouble {
  std::string cause;   // "connect to warderd at '/run/warder/mcp.sock': No such file or directory"
  std::string remedy;  // "start it with: sudo systemctl start warder.socket"
  std::string state = "warderd is not running";
};

// The answer to a request. Handshake, discovery and ping are answered as warderd answers them; tools/list with
// `known_tools` (the raw result of an earlier tools/list; empty: only execute_code); a tool call with an isError result
// that names cause and remedy; all other requests with a JSON-RPC error.
std::string offline_answer(const Envelope& request, const Trouble& trouble, std::string_view known_tools);

// Whether a call's program may have run; the answer says so in may_have_run.
enum class CallRan { no, maybe };

// The answer to a sent request after the end of its connection: isError for tools/call, else a JSON-RPC error.
std::string interrupted_answer(std::string_view raw_id, std::string_view method, ProtocolEra era, std::string_view text,
                               std::string_view remedy, CallRan ran = CallRan::maybe);

// -32600, without an id when `raw_id` is empty.
std::string refused_line(std::string_view raw_id, std::string_view text);

}  // namespace cli
