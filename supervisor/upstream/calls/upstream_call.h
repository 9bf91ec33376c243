// call_upstream(): one call of an upstream server's tool, under the rules of the caller's policy. Steps: the name is
// found, the arguments are checked, the rules decide, a person is asked if a rule says so (call_approval.h), the call
// is made and written into the audit chain, with sizes and verdict, never a value. All work on arguments and results
// happens in jobs of Work, in the tenant's turn. Used by: supervisor/tools/catalog/call_tool.cc. Errors: not_found,
// invalid, denied (with rule and remedy), exhausted (a tenant's rate; the work on arguments or result takes too long),
// unavailable.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "supervisor/base/large_value.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/records/spans/queue.h"
#include "supervisor/tenants/privacy/pii_vaults.h"
#include "supervisor/upstream/calls/approvals.h"
#include "supervisor/upstream/calls/call_context.h"
#include "supervisor/upstream/calls/call_rates.h"
#include "supervisor/upstream/calls/pending_questions.h"
#include "supervisor/upstream/discovery/catalog_watch.h"
#include "supervisor/upstream/discovery/search_learning.h"
#include "supervisor/upstream/result_value.h"
#include "supervisor/upstream/upstream_servers.h"

namespace calls {

struct CallEnvironment {  // must outlive the MCP server and all calls
  Loop& loop;
  Work& work;
  upstream::UpstreamServers& upstream;
  journal::Journal& journal;
  discovery::CatalogOf catalog_of;
  privacy::PiiVaults& vaults;
  discovery::SearchLearning& learning;  // learns from a search that led to a call
  Approvals& approvals;
  spans::Queue* spans = nullptr;  // nullptr: no spans are recorded
  CallRates rates = {};
  PendingQuestions questions = {};
};

struct UpstreamCall {
  FreedBeside arguments;
  std::string name, server;          // as the caller gave them; `server` may be empty
  std::string idempotency_key = {};  // of a call in a workflow's step; empty: absent
};

// Takes the result of a call, in a job: the value with personal data replaced by tokens if the policy says so, and the
// size of the whole value as JSON. Its error is the error of the call.
using ResultTaker = std::function<Result<>(upstream::ToolValue result, uint64_t bytes, WorkMeter& meter)>;

// Makes the call and audits it. Returns the size of the result as JSON. The environment must outlive the task; `take`
// owns all that it uses.
Task<Result<uint64_t>> call_upstream(CallEnvironment& environment, CallContext context, UpstreamCall call,
                                     ResultTaker take);

// The number of the call with which four fifths of the limit are used; UINT32_MAX for a limit below 5.
uint32_t first_call_reported(uint32_t limit);
// "820 of the 1000 calls ... are used"; empty while less than four fifths of the limit are used.
std::string call_limit_note(uint32_t calls, uint32_t limit);

}  // namespace calls
