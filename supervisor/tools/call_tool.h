// The tool call_tool, and the same for jailed code: one call of another server's tool, under the policy's rules.
// Whoever calls, and from wherever: the name is found, the rules decide, somebody is asked where they say so
// (call_approval.h), the arguments are checked, the call is made and written into the audit chain, with sizes and
// verdict, never a value.
//   agents: call_tool(name, arguments?, select?) -> {result}, pictures as pictures
//   code:   call_tool {server?, name, arguments?} -> {value} or {failure: {code, message, data?}}
// Errors: not_found, invalid, denied (with rule and remedy), exhausted (of an execution's calls, of a tenant's rate),
// unavailable.
#pragma once
#include "supervisor/base/under_way.h"
#include "supervisor/journal/journal.h"
#include "supervisor/mcp/server.h"
#include "supervisor/tools/approvals.h"
#include "supervisor/tools/asker.h"
#include "supervisor/tools/call_rates.h"
#include "supervisor/tools/catalog_tools.h"
#include "supervisor/tools/guest_calls.h"
#include "supervisor/tools/pending_questions.h"
#include "supervisor/tools/pii_tools.h"
#include "supervisor/traces/queue.h"
#include "supervisor/upstream/upstream_servers.h"

namespace tools {

struct CallEnvironment {  // must outlive server and calls
  Loop& loop;
  JsonWork& json;  // for what is large
  upstream::UpstreamServers& upstream;
  journal::Journal& journal;
  CatalogOf catalog_of;
  PiiVaults& vaults;
  SearchLearning& learning;  // a search that led to a call teaches
  Approvals& approvals;
  traces::Queue* spans = nullptr;  // nullptr: none are recorded
  CallRates rates = {};
  PendingQuestions questions = {};
  UnderWay<std::string> ruled_on = {};  // tenants' calls, whose arguments the rules look at
};

void add_call_tool(mcp::Server& server, CallEnvironment& environment, const AskerOf& asker_of);
void add_tool_calls(GuestCalls& calls, CallEnvironment& environment);

mcp::ToolDefinition call_tool_definition();

// "820 of the 1000 calls ... are used", once four fifths of them are; empty before.
std::string told_of_calls(uint32_t calls, uint32_t limit);

}  // namespace tools
