// CallRules: which tools of upstream servers a tenant's code and agents may call, with which arguments, and how much.
// Source: the "calls" object of policies/*.json. Applied by supervisor/tools/catalog/call_tool.cc, to calls from jails and
// direct ones alike.
// Errors: problems that name the key, "calls.rules[2].when: ...".
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json_fwd.h"
#include "supervisor/base/result.h"

namespace policies {

class JsonSchema;  // policies/schema/json_schema.h

// ask: somebody decides (supervisor/calls/approvals.h).
enum class Verdict { allow, deny, ask };

// Who decides about calls whose verdict is `ask`, and until when.
struct ApprovalRules {
  // tenant: the person at the client that asks, the tenant's own user over D-Bus, and administrators.
  // administrator: these alone; the client is not asked.
  enum class By { tenant, administrator };
  By by = By::tenant;
  std::chrono::seconds expires{3600};  // then the call is refused
};

// How often a tenant may call: of several, each must have room.
struct RateRule {
  std::string name;                // for refusals: "calls.NAME"
  std::vector<std::string> tools;  // counted together
  uint32_t per_minute = 0;         // of any 60 s; 0: none at all
};

struct CallRule {
  std::string name;                        // for denials: "no-deletes"
  std::vector<std::string> tools;          // "server.tool", '*' stands for any characters
  std::shared_ptr<const JsonSchema> when;  // only calls whose arguments fit; nullptr: all
  Verdict verdict = Verdict::deny;
  std::string why, remedy;  // what is told; may be empty
};

// Where tokens for personal data become what they stand for: in these arguments of these tools, and nowhere else.
struct RestoreRule {
  std::vector<std::string> tools;      // "server.tool", '*' stands for any characters
  std::vector<std::string> arguments;  // names; "*": all
};

struct CallRules {
  uint32_t per_execution = 1000;           // calls
  uint64_t bytes = 64ull << 20;            // of all results of one execution
  std::chrono::milliseconds wall{60'000};  // of one call, at most
  std::vector<CallRule> rules;             // the first that fits decides
  Verdict otherwise = Verdict::deny;
  ApprovalRules approval;
  // client: what a server asks in the middle of a call is put to the person at the client that makes it.
  // nobody: no server may ask anything.
  enum class Questions { client, nobody };
  Questions questions = Questions::nobody;
  std::vector<RateRule> rates;
  // tokenised: personal data in what tools answer is replaced by tokens before code or agents see it. So it is, too,
  // where anything is restored.
  enum class Results { as_is, tokenised };
  Results results = Results::as_is;
  std::vector<RestoreRule> restore;

  struct Decision {
    Verdict verdict = Verdict::deny;
    const CallRule* rule = nullptr;  // nullptr: no rule fits
    std::string name() const;        // "calls.careful", "calls.otherwise"
  };
  bool restores_into(std::string_view server, std::string_view tool, std::string_view argument) const;
  // Errors: denied: a condition takes too long to check.
  Result<Decision> decide(std::string_view server, std::string_view tool, const Json& arguments) const;
  // The same, where only `allow` and `ask` go on. Errors: denied, with rule and remedy.
  Result<Decision> admit(std::string_view server, std::string_view tool, const Json& arguments) const;
};

// What the caller of a call is told that is not made, for the decision or for what came of asking. `cause`: "is not
// allowed", "was refused by user 0".
Error refusal(std::string_view server, std::string_view tool, const CallRules::Decision& decision,
              std::string_view cause);

// Adds what is wrong to `problems`.
CallRules read_call_rules(const Json& object, std::vector<Error>& problems);

}  // namespace policies
