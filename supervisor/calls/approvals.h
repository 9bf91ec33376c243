// Approvals: calls that wait until somebody has decided about them. Asked are the person at the client (elicitation)
// and, over D-Bus, whoever the policy lets decide; the first answer counts, and without one the call is refused in
// time. Source: call_approval.cc, for each call whose verdict is `ask`. Decided by: the client,
// supervisor/bus/approvals.cc. An approval is for one call with the arguments that it was asked about, and is kept in
// memory only: whoever asked goes (the code was killed, the client left, the daemon ends), and the question goes with
// it. Errors: unavailable: the daemon is ending; exhausted: too many wait.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policies/call_rules.h"
#include "supervisor/base/loop.h"
#include "supervisor/mcp/context.h"

namespace calls {

// What is shown to whoever decides.
struct Approval {
  std::string id;         // "a" and 16 hexadecimal digits
  std::string tenant;     // its account
  std::string execution;  // empty: a direct call
  std::string tool;       // "server.tool"
  std::string rule;       // "calls.careful"
  std::string why;        // of that rule; may be empty
  std::string arguments;  // JSON in ASCII, whole; tokens in the place of personal data
  uint32_t uid = 0;       // of the client
  int32_t pid = 0;
  int64_t asked_ms = 0, expires_ms = 0;  // since 1970
  policies::ApprovalRules::By by = policies::ApprovalRules::By::tenant;
};

struct ApprovalVerdict {
  // unasked: there was nobody to ask. withdrawn: it was taken back before anybody decided.
  enum class Kind { approved, denied, dismissed, expired, unasked, withdrawn };
  Kind kind = Kind::expired;
  std::string by;      // "the client of user 1000", "user 0 over D-Bus"; empty: nobody
  std::string reason;  // of a denial or withdrawal; may be empty
};
std::string_view kind_name(ApprovalVerdict::Kind kind);

class Approvals {
 public:
  explicit Approvals(Loop& loop) : loop_(loop) {}
  Approvals(const Approvals&) = delete;

  // Somebody could answer over D-Bus. Empty: nobody can.
  std::function<bool()> reachable;
  enum class What { asked, settled };
  // Told within the call that changed it; `how` is kind_name().
  std::function<void(const Approval&, What, std::string_view how)> told;

  // Waits for the verdict; destroying the task takes the question back. `client` outlives it.
  Task<Result<ApprovalVerdict>> ask(Approval approval, mcp::RequestContext& client);
  // Errors: not_found: it was settled, or there never was one.
  Result<> settle(const std::string& id, ApprovalVerdict verdict);
  // Everything that waits is taken back: it was asked about under other rules.
  void refuse_all(const std::string& why);
  // The same, and nothing waits from now on.
  void close(const std::string& why);

  const Approval* find(const std::string& id) const;
  std::vector<const Approval*> all() const;  // oldest first
  // Ids of one execution's.
  std::vector<std::string> of(std::string_view execution) const;

 private:
  struct Waiting;
  class Place;
  void ask_client(const std::shared_ptr<Waiting>& waiting, mcp::RequestContext& client);

  Loop& loop_;
  std::map<std::string, std::shared_ptr<Waiting>, std::less<>> waiting_;
  std::string closed_;  // why nothing waits any more
};

// The text for the person at the client.
std::string approval_text(const Approval& approval);

}  // namespace calls
