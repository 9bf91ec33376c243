// CallRules: which tools of upstream servers a tenant's code and agents may call, with which arguments, and how often.
// Source: the "calls" object of policies/*.json. Applied by supervisor/upstream/calls/upstream_call.cc, to calls from
// jails and to direct calls alike. Errors: problems that name the key, "calls.rules[2].when: ...".
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"
#include "supervisor/base/work_meter.h"

namespace policies {

class JsonSchema;  // policies/schema/json_schema.h

// ask: a person decides (supervisor/upstream/calls/approvals.h).
enum class Verdict { allow, deny, ask };

// ApprovalRules: the people that decide about calls with the verdict `ask`, and the time for it.
struct ApprovalRules {
  // tenant: the person at the calling client, the tenant's own user over D-Bus, and administrators.
  // administrator: administrators alone; the client is not asked.
  enum class By { tenant, administrator };
  By by = By::tenant;
  std::chrono::seconds expires{3600};  // after this time without a decision the call is refused
};

// RateRule: how often a tenant may call some tools. A call counts for each rule that names its tool, and each must have
// room.
struct RateRule {
  std::string name;                // for refusals: "calls.NAME"
  std::vector<std::string> tools;  // counted together
  uint32_t per_minute = 0;         // in any 60 s; 0: every call is refused
};

struct CallRule {
  std::string name;                        // for denials: "no-deletes"
  std::vector<std::string> tools;          // "server.tool", '*' stands for any characters
  std::shared_ptr<const JsonSchema> when;  // applies only to calls with arguments that fit; nullptr: all
  Verdict verdict = Verdict::deny;
  std::string why, remedy;  // for the caller of a denied call; may be empty
};

// RestoreRule: the arguments in which tokens become the personal data that they stand for. In all other arguments,
// tokens stay tokens.
struct RestoreRule {
  std::vector<std::string> tools;      // "server.tool", '*' stands for any characters
  std::vector<std::string> arguments;  // names; "*": all
};

struct CallRules {
  uint32_t per_execution = 1000;           // calls
  uint64_t bytes = 64ull << 20;            // limit for all results of one execution
  std::chrono::milliseconds wall{60'000};  // the longest time that one call may take
  std::vector<CallRule> rules;             // the first rule that fits decides
  Verdict otherwise = Verdict::deny;
  ApprovalRules approval;
  // client: a server's question in the middle of a call goes to the person at the calling client.
  // no_user: no server may ask questions.
  enum class Questions { client, no_user };
  Questions questions = Questions::no_user;
  std::vector<RateRule> rates;
  // tokenised: personal data in the results of tools is replaced by tokens before code or agents see the results. A
  // policy with any rule in `restore` does the same.
  enum class Results { as_is, tokenised };
  Results results = Results::as_is;
  std::vector<RestoreRule> restore;

  struct Decision {
    Verdict verdict = Verdict::deny;
    const CallRule* rule = nullptr;  // nullptr: no rule fits
    std::string name() const;        // "calls.careful", "calls.otherwise"
  };
  // "calls.rules: 'b' is never used, because 'a' before it fits every call": the first such rule. Empty: there is none.
  std::string unused_rule() const;
  bool restores_into(std::string_view server, std::string_view tool, std::string_view argument) const;
  // Errors: denied: a condition takes too long to check.
  Result<Decision> decide(std::string_view server, std::string_view tool, const Json& arguments,
                          WorkMeter& meter) const;
  // Like decide(), but a denial is an error. Errors: denied, with rule and remedy.
  Result<Decision> admit(std::string_view server, std::string_view tool, const Json& arguments, WorkMeter& meter) const;
};

// The error for the caller of a call that is not made, because of the decision or a refused approval.
// `cause`: "is not allowed", "was refused by user 0".
Error refusal(std::string_view server, std::string_view tool, const CallRules::Decision& decision,
              std::string_view cause);

// Adds the errors in `object` to `problems`.
CallRules read_call_rules(const Json& object, std::vector<Error>& problems);

}  // namespace policies
