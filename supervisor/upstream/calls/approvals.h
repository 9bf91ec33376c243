// Approvals: the calls that wait for the decision of a person. The person at the client can decide (elicitation), and
// over D-Bus the users that the policy allows. The first decision counts. Without a decision in time the call is
// refused. An approval is for one call with exactly the arguments shown. It exists in memory only, and ends with its
// call: when the code is killed, the client leaves, or the daemon ends.
// Source: call_approval.cc, for each call with the verdict `ask`. Used by: supervisor/operations/bus/approvals.cc,
// supervisor/daemon/. Errors: unavailable: the daemon is ending; exhausted: too many calls wait (64 of one tenant,
// 1,000 in all).
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policies/call_rules.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/observer_list.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

namespace mcp {
class RequestContext;
}

namespace calls {

// Approval: the description of the call, as shown to the person.
struct Approval {
  std::string id;         // "a" and 16 hexadecimal digits
  std::string tenant;     // the tenant's account
  std::string execution;  // empty: a direct call
  std::string tool;       // "server.tool"
  std::string rule;       // "calls.careful"
  std::string why;        // the rule's reason; may be empty
  std::string arguments;  // complete, as JSON in ASCII; tokens replace personal data
  // The arguments of the call that will be made, with personal data. Never shown, sent or logged but by
  // Approvals::look. Empty: too long to be shown.
  std::string exact_arguments;
  std::string principal;  // of the client: "uid:1000", "token:ci"
  std::string asker;      // the same for sentences: "user 1000", "token ci"
  uint32_t uid = 0;       // of the client; -1: it is no process of this machine
  int32_t pid = 0;
  int64_t requested_ms = 0, expires_ms = 0;  // since 1970
  policies::ApprovalRules::By by = policies::ApprovalRules::By::tenant;
};

struct ApprovalVerdict {
  // unasked: no person could be asked. withdrawn: the question was taken back before a decision.
  enum class Kind { approved, denied, dismissed, expired, unasked, withdrawn };
  Kind kind = Kind::expired;
  std::string by;      // "the client of user 1000", "the client of token ci", "user 0 over D-Bus"; empty: no decision
  std::string reason;  // of a denial or withdrawal; may be empty
};
std::string_view kind_name(ApprovalVerdict::Kind kind);
// The number of kinds; Kind counts from 0.
inline constexpr size_t kApprovalKinds = static_cast<size_t>(ApprovalVerdict::Kind::withdrawn) + 1;

class Approvals {
 public:
  explicit Approvals(Loop& loop) : loop_(loop) {}
  Approvals(const Approvals&) = delete;

  enum class RequestChange { requested, settled };
  struct Observer {
    // Called for each change, before the changing call returns. `how`: kind_name() if settled, else empty.
    std::function<void(const Approval&, RequestChange, std::string_view how)> changed;
    // Whether the observer can bring a decision of a person now, with settle(). Empty: it only looks on.
    std::function<bool()> can_decide = {};
  };
  using Observers = ObserverList<Observer>;
  Observers::Place observe(Observer observer) { return observers_.add(std::move(observer)); }

  // Waits for the verdict. Destroying the task takes the question back. `client` must outlive the task.
  Task<Result<ApprovalVerdict>> ask(Approval approval, mcp::RequestContext& client);
  // Decides about a waiting call. Errors: not_found: no call with this id waits.
  Result<> settle(const std::string& id, ApprovalVerdict verdict);
  // The exact arguments of a waiting call, for a person that may see personal data. The caller has checked that, and
  // has recorded the look (`number`: of this call's looks, from 1). Errors: not_found; invalid: too long to be shown.
  struct ApprovalView {
    std::string arguments;
    size_t values = 0;  // tokens in `Approval::arguments`
    uint32_t number = 0;
  };
  Result<ApprovalView> inspect(const std::string& id);
  // Takes back all waiting approvals. For a reload of the policies: the approvals were asked for under the old rules.
  void refuse_all(const std::string& why);
  // Like refuse_all(); later calls of ask() fail.
  void close(const std::string& why);

  // How many questions were settled since the start, by kind; also those that no person could be asked.
  const std::array<uint64_t, kApprovalKinds>& settled() const { return settled_; }
  const Approval* find(const std::string& id) const;
  std::vector<const Approval*> all() const;  // oldest first
  // Ids of the approvals that one execution waits for, oldest first.
  std::vector<std::string> of(std::string_view execution) const;

 private:
  struct WaitingCall;
  class WaitingSlot;
  void ask_client(const std::shared_ptr<WaitingCall>& waiting, mcp::RequestContext& client);
  bool an_observer_can_decide() const;
  void count(ApprovalVerdict::Kind kind) { settled_[static_cast<size_t>(kind)]++; }
  void notify(const Approval& approval, RequestChange subject, std::string_view how) const;

  Loop& loop_;
  Observers observers_;
  std::map<std::string, std::shared_ptr<WaitingCall>, std::less<>> waiting_;
  std::array<uint64_t, kApprovalKinds> settled_{};
  std::string closed_;  // the reason of close(); empty: not closed
};

// The text for the person at the client.
std::string approval_text(const Approval& approval);

}  // namespace calls
