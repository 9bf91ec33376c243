#include "supervisor/records/journal/execution_facts.h"

#include <algorithm>
#include <cmath>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace journal {
namespace {

template <class Value>
std::string columns_of(const Value& value) {
  std::string columns;
  for_each_fact(value, [&columns](const ExecutionFact& fact, const auto&) {
    if (!columns.empty()) columns += ", ";
    columns += fact.column;
  });
  return columns;
}

void bind_value(Statement& statement, const std::string& text) { statement.bind(text); }
void bind_value(Statement& statement, uint64_t number) { statement.bind(stored(number)); }
void bind_value(Statement& statement, uint32_t number) { statement.bind(int64_t{number}); }
void bind_value(Statement& statement, int64_t number) { statement.bind(number); }
void bind_value(Statement& statement, const std::optional<uint32_t>& number) {
  number ? statement.bind(int64_t{*number}) : statement.bind_null();
}

void read_value(const Statement& row, int column, std::string& text) { text = row.text(column); }
void read_value(const Statement& row, int column, int64_t& number) { number = row.integer(column); }
void read_value(const Statement& row, int column, uint32_t& number) {
  number = static_cast<uint32_t>(row.integer(column));
}
void read_value(const Statement& row, int column, std::optional<uint32_t>& number) {
  read_value(row, column, number.emplace());
}
void read_value(const Statement& row, int column, uint64_t& number) {
  number = static_cast<uint64_t>(std::max<int64_t>(row.integer(column), 0));
}

}  // namespace

std::string started_columns() { return columns_of(StartedRow()); }
std::string ended_columns() { return columns_of(Ended()); }
std::string execution_columns() { return started_columns() + ", outcome, " + ended_columns(); }

JournaledExecution read_execution(const Statement& row, int column) {
  JournaledExecution execution;
  execution.ended.cpu_us = kCpuUnknown;
  const auto read = [&](const ExecutionFact&, auto& value) {
    if (!row.is_null(column)) read_value(row, column, value);
    column++;
  };
  for_each_fact(execution.started, read);
  execution.ended.outcome = row.text(column++);
  for_each_fact(execution.ended, read);
  execution.ended.id = execution.started.id;
  return execution;
}

void bind_facts(Statement& statement, const StartedRow& start) {
  for_each_fact(start, [&](const ExecutionFact&, const auto& value) { bind_value(statement, value); });
}
void bind_facts(Statement& statement, const Ended& ended) {
  for_each_fact(ended, [&](const ExecutionFact& fact, const auto& value) {
    if (fact.may_be_unknown && static_cast<int64_t>(value) == kCpuUnknown)
      statement.bind_null();
    else
      bind_value(statement, value);
  });
}

Json usage_json(const Ended& ended, UsageForm form) {
  Json usage;
  for_each_fact(ended, [&](const ExecutionFact& fact, auto value) {
    const auto number = static_cast<int64_t>(value);
    if (fact.usage_key.empty() || !fact.is_known(number)) return;
    if (form == UsageForm::large && (fact.large == 0 || number < fact.large)) return;
    Json& shown = usage[std::string(fact.usage_key)];
    const double ms = static_cast<double>(value) / 1000;
    if (!fact.is_time()) {
      shown = value;
    } else if (form == UsageForm::all) {
      shown = ms;
    } else {
      shown = std::llround(ms);
    }
  });
  return usage;
}

}  // namespace journal
