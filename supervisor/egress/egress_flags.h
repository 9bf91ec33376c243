// EgressFlags: the flags of warder-egress. Declared once, for its main(), which reads them, and for the manual page
// (supervisor/programs/docgen/). No function here fails.
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace egress {

inline constexpr char kEgressDescription[] = "Reaches hosts for the code in Warder's jails, as policies allow.";

struct EgressFlags {  // as given on the command line; empty: not given
  std::string socket, name_servers, authorities;
};

// `flags` must live as long as `app`.
void declare_flags(CLI::App& app, EgressFlags& flags);

}  // namespace egress
