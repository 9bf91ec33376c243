// Execution facts: all that the journal stores of an execution, each fact once, with its names. A new fact is a member
// of Ended or Ledger, a row at the end of kEndedFacts, and a step in executions_part(): statements, lines of the spool,
// history, logs, spans and answers take it from its row.
// Source: executions.h. Used by: record.cc, executions.cc and history.cc for what is stored, supervisor/executions/ for
// what is shown. Schema and D-Bus interface stand for themselves:
// tests/supervisor/records/journal/execution_facts_test.cc compares the names. No errors.
#pragma once
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/records/journal/executions.h"

namespace journal {

enum class ZeroMeans { number, unknown, unknown_in_answers };
enum class Totalled { no, yes, yes_and_in_record };  // yes: the table `totals` has a column of this name

// An empty name: the fact is not shown there. "..._us" is a time, which answers and spans show in ms.
struct ExecutionFact {
  std::string_view column;           // of the table `executions`
  std::string_view bus_member = {};  // of an execution in ListHistory (org.warder.Warder1.Manager)
  std::string_view usage_key = {};   // of "usage" in answers
  std::string_view log_field = {}, span_key = {};
  int64_t large = 0;  // an answer without a receipt shows values from here on; 0: none
  ZeroMeans zero = ZeroMeans::number;
  Totalled totalled = Totalled::no;  // of the ledger; in_record: a key of "Ledger" in GetRecord, too
  bool may_be_unknown = false;       // kCpuUnknown is stored as NULL

  constexpr bool is_time() const { return column.ends_with("_us"); }
  constexpr bool is_known(int64_t value) const {
    return value != kCpuUnknown && (value != 0 || zero == ZeroMeans::number);
  }
};
template <class Owner, class Member>
struct FactRow {
  ExecutionFact fact;
  Member Owner::*member;
};
template <class Owner, class Member>
constexpr FactRow<Owner, Member> fact_row(Member Owner::*member, ExecutionFact fact) {
  return {fact, member};
}

// In the order of the spool's lines.
inline constexpr std::tuple kStartedFacts{
    fact_row(&StartedRow::id, {"id"}),
    fact_row(&StartedRow::tenant, {"tenant"}),
    fact_row(&StartedRow::language, {"language"}),
    fact_row(&StartedRow::policy, {"policy"}),
    fact_row(&StartedRow::code_bytes, {"code_bytes"}),
    fact_row(&StartedRow::at_ms, {"started_ms"}),
    fact_row(&StartedRow::uid, {"uid"}),
    fact_row(&StartedRow::principal, {"principal"}),
};
inline constexpr std::tuple kEndedFacts{
    fact_row(&Ended::wall_us, {"wall_us", "WallUSec", "wall_ms", "WARDER_WALL_USEC", "warder.wall_ms"}),
    fact_row(&Ended::took_us, {"took_us", "AnswerUSec"}),
    fact_row(&Ended::cpu_us, {.column = "cpu_us",
                              .bus_member = "CPUUSec",
                              .usage_key = "cpu_ms",
                              .log_field = "WARDER_CPU_USEC",
                              .span_key = "warder.cpu_ms",
                              .large = 1'000'000,
                              .may_be_unknown = true}),
    fact_row(&Ended::memory_peak_bytes,
             {"memory_peak_bytes", "MemoryPeakBytes", "memory_peak_bytes", "WARDER_MEMORY_PEAK_BYTES",
              "warder.memory_peak_bytes", 64 << 20, ZeroMeans::unknown_in_answers}),
    fact_row(&Ended::processes_peak,
             {"processes_peak", "TasksPeak", "processes_peak", "WARDER_PROCESSES_PEAK", "", 0, ZeroMeans::unknown}),
    fact_row(&Ledger::returned_bytes, {.column = "returned_bytes", .totalled = Totalled::yes_and_in_record}),
    fact_row(&Ledger::printed_bytes, {.column = "printed_bytes", .totalled = Totalled::yes_and_in_record}),
    fact_row(&Ledger::fetched_bytes, {.column = "fetched_bytes", .totalled = Totalled::yes_and_in_record}),
    fact_row(&Ledger::definitions_avoided_bytes, {.column = "definitions_avoided_bytes", .totalled = Totalled::yes}),
    fact_row(&Ledger::read_bytes, {.column = "read_bytes", .totalled = Totalled::yes_and_in_record}),
    fact_row(&Ledger::returned_tokens, {.column = "returned_tokens", .totalled = Totalled::yes}),
    fact_row(&Ledger::printed_tokens, {"printed_tokens"}),
    fact_row(&Ledger::fetched_tokens, {"fetched_tokens"}),
    fact_row(&Ledger::definitions_avoided_tokens, {.column = "definitions_avoided_tokens", .totalled = Totalled::yes}),
    fact_row(&Ledger::read_tokens, {.column = "read_tokens", .totalled = Totalled::yes}),
};

// Calls visit(const ExecutionFact&, member) for each fact of a StartedRow or Ended, in the order of its table.
template <class Value, class Visit>
constexpr void for_each_fact(Value&& value, Visit visit) {
  const auto visit_row = [&visit](auto& owner, const auto& row) {
    if constexpr (requires { owner.*row.member; })
      visit(row.fact, owner.*row.member);
    else
      visit(row.fact, owner.ledger.*row.member);
  };
  const auto visit_rows = [&](const auto&... rows) { (visit_row(value, rows), ...); };
  if constexpr (std::is_same_v<std::decay_t<Value>, Ended>)
    std::apply(visit_rows, kEndedFacts);
  else
    std::apply(visit_rows, kStartedFacts);
}

// Calls visit(const ExecutionFact&, uint64_t Ledger::*) for each number of the ledger.
template <class Visit>
constexpr void for_each_ledger_fact(Visit visit) {
  const auto visit_row = [&](const auto& row) {
    if constexpr (std::is_same_v<decltype(row.member), uint64_t Ledger::*>) visit(row.fact, row.member);
  };
  std::apply([&](const auto&... rows) { (visit_row(rows), ...); }, kEndedFacts);
}

// Columns of the table `executions`, as in SQL texts: "id, tenant, ...". All: in the order of read_execution().
std::string started_columns();
std::string ended_columns();
std::string execution_columns();
// Reads the columns of execution_columns(), of which `column` is the first.
JournaledExecution read_execution(const Statement& row, int column);
// Binds the values of started_columns() or ended_columns(). An unknown number is NULL.
void bind_facts(Statement& statement, const StartedRow& start);
void bind_facts(Statement& statement, const Ended& ended);

enum class UsageForm { all, large };  // large: only what an agent can act on, with times in whole ms
// "usage" of answers. Null: there is nothing to show.
Json usage_json(const Ended& ended, UsageForm form);

}  // namespace journal
