#include "supervisor/tools/execution/execution_account.h"

#include "supervisor/base/json/json.h"
#include "supervisor/records/journal/execution_facts.h"
#include "supervisor/tenants/executions.h"

namespace tools {
namespace {

Json context_of(const journal::Ledger& ledger) {
  return {
      {"returned", bytes_and_tokens(ledger.returned_bytes, ledger.returned_tokens)},
      {"printed", bytes_and_tokens(ledger.printed_bytes, ledger.printed_tokens)},
      {"fetched", bytes_and_tokens(ledger.fetched_bytes, ledger.fetched_tokens)},
      {"read_in_jail", bytes_and_tokens(ledger.read_bytes, ledger.read_tokens)},
      {"kept_out", bytes_and_tokens(ledger.withheld_bytes(), ledger.withheld_tokens())},
      {"definitions_avoided", bytes_and_tokens(ledger.definitions_avoided_bytes, ledger.definitions_avoided_tokens)}};
}

}  // namespace

Json bytes_and_tokens(uint64_t bytes, uint64_t tokens) { return {{"bytes", bytes}, {"tokens_estimated", tokens}}; }

Json describe(const journal::JournaledExecution& account) {
  const journal::StartedRow& start = account.started;
  const journal::Ended& ended = account.ended;
  const bool runs = ended.outcome.empty();
  Json all = {{"execution_id", start.id},
              {"language", start.language},
              {"policy", start.policy},
              {"started", iso_time(start.at_ms * 1'000'000)},
              {"outcome", runs ? "running" : ended.outcome},
              {"code_bytes", start.code_bytes}};
  if (runs) return all;
  all["usage"] = journal::usage_json(ended, journal::UsageForm::all);
  all["answer_ms"] = static_cast<double>(ended.took_us) / 1000;
  all["context"] = context_of(ended.ledger);
  return all;
}

Task<Result<std::string>> read_account(journal::Journal& journal, std::string tenant, std::string execution) {
  CO_CHECKED(tenants::check_execution_id(execution));
  CO_TRY(auto match, co_await journal.account(std::move(tenant), execution));
  if (!match)
    co_return fail(Code::not_found, "no execution '" + execution + "' is known",
                   "use an execution_id from an answer of execute_code; the oldest are removed");
  co_return dump_json(describe(*match));
}

}  // namespace tools
