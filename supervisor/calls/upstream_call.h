// One call of an upstream server's tool, under the rules of the caller's policy: the name is found, the rules decide, a
// person is asked where they say so (call_approval.h), the arguments are checked, the call is made and written into the
// audit chain, with sizes and verdict, never a value.
// Errors: not_found, invalid, denied (with rule and remedy), exhausted (a tenant's rate), unavailable.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "supervisor/base/large_value.h"
#include "supervisor/base/under_way.h"
#include "supervisor/calls/approvals.h"
#include "supervisor/calls/call_rates.h"
#include "supervisor/calls/on_behalf.h"
#include "supervisor/calls/pending_questions.h"
#include "supervisor/discovery/catalog_watch.h"
#include "supervisor/discovery/search_learning.h"
#include "supervisor/journal/journal.h"
#include "supervisor/privacy/pii_vaults.h"
#include "supervisor/traces/queue.h"
#include "supervisor/upstream/result_value.h"
#include "supervisor/upstream/upstream_servers.h"

namespace calls {

struct CallEnvironment {  // must outlive server and calls
  Loop& loop;
  JsonWork& json;  // for what is large
  upstream::UpstreamServers& upstream;
  journal::Journal& journal;
  discovery::CatalogOf catalog_of;
  privacy::PiiVaults& vaults;
  discovery::SearchLearning& learning;  // a search that led to a call teaches
  Approvals& approvals;
  traces::Queue* spans = nullptr;  // nullptr: none are recorded
  CallRates rates = {};
  PendingQuestions questions = {};
  UnderWay<std::string> ruled_on = {};  // tenants' calls, whose arguments the rules look at
};

struct UpstreamCall {
  FreedBeside arguments;
  std::string name, server;  // as the caller gave them; `server` may be empty
  std::vector<std::string> select;
};

// Makes the call and audits it. The result is a value, with personal data replaced where the policy wants that; `bytes`
// is set to its size as JSON. The environment must outlive the task.
Task<Result<upstream::ToolValue>> call_upstream(CallEnvironment& environment, Who who, UpstreamCall call,
                                                uint64_t& bytes);

// The number of the call with which four fifths of the limit are used; UINT32_MAX for a limit below 5.
uint32_t first_call_told(uint32_t limit);
// "820 of the 1000 calls ... are used", once four fifths of them are; empty before.
std::string told_of_calls(uint32_t calls, uint32_t limit);

}  // namespace calls
