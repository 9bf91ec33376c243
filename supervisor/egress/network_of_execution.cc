#include "supervisor/egress/network_of_execution.h"

#include <fmt/format.h>

#include <algorithm>

#include "policies/egress_rules.h"
#include "policies/policy_parts.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/upstream/calls/audited_call.h"
#include "supervisor/upstream/calls/call_approval.h"

namespace egress {
namespace {

constexpr size_t kMaxRefused = 5;       // in an answer
constexpr size_t kMaxShownBytes = 160;  // of a host, and of a cause

calls::Target target_of(const EgressEntry& entry) { return {"egress", fmt::format("{}:{}", entry.host, entry.port)}; }

calls::PersonsQuestion question_about(const EgressEntry& entry) {
  calls::PersonsQuestion question;
  question.tool = fmt::format("network: {} {}:{}", entry.method, entry.host, entry.port);
  question.rule = entry.rule;
  question.given = {{"method", entry.method}, {"host", entry.host}, {"port", entry.port}};
  if (!entry.path.empty()) question.given["path"] = entry.path;
  return question;
}

}  // namespace

NetworkOfExecution::NetworkOfExecution(EgressLink& link, calls::CallEnvironment& environment,
                                       const calls::CallContext& caller)
    : link_(link),
      environment_(environment),
      caller_(caller),
      rules_(policies::egress_of(*caller.policy)),
      access_(environment.loop, link, rules_, *this) {}

Task<Result<>> NetworkOfExecution::prepare() {
  CO_TRY(secrets_, co_await link_.read_secrets(rules_));
  co_return Result<>{};
}

void NetworkOfExecution::begin(int listener) {
  const auto it = access_.begin(listener, secrets_);
  unfit_ = it ? std::string() : it.error().what;
}

Task<> NetworkOfExecution::finish() {
  const auto totals = co_await access_.finish();
  if (totals) totals_ = {totals->requests, totals->denied, totals->bytes_up, totals->bytes_down};
}

void NetworkOfExecution::note(const EgressEntry& entry) {
  if (entry.verdict == "denied" || entry.verdict == "failed") note_refused(entry);
  spans::OpenSpan span(environment_.spans, caller_.trace, spans::SpanKind::client, "egress");
  calls::AuditedCall audited(environment_.journal, span, caller_, target_of(entry), "egress");
  const Json shape = audit_shape(entry);
  for (const auto& [key, value] : shape.items()) audited.set(key.c_str(), value);
}

void NetworkOfExecution::note_refused(const EgressEntry& entry) {
  if (refused_.size() == kMaxRefused) return;
  // The cause begins with "a tunnel to HOST: ", and the host stands beside it.
  const std::string named = entry.host + ": ";
  const size_t at = entry.cause.find(named);
  std::string_view why = entry.cause;
  if (at != why.npos) why.remove_prefix(at + named.size());
  std::string host = printable(entry.host, kMaxShownBytes);
  if (entry.port != 0) host += fmt::format(":{}", entry.port);
  runs::RefusedRequest item{std::move(host), entry.rule, printable(std::string(why), kMaxShownBytes)};
  if (std::find(refused_.begin(), refused_.end(), item) == refused_.end()) refused_.push_back(std::move(item));
}

Task<bool> NetworkOfExecution::ask(EgressEntry entry) {
  spans::OpenSpan span(environment_.spans, caller_.trace, spans::SpanKind::internal, "approval");
  calls::AuditedCall audited(environment_.journal, span, caller_, target_of(entry), "approval");
  calls::PersonsQuestion question = question_about(entry);
  const Json exact = question.given;
  auto verdict = co_await calls::ask_person(environment_, caller_, audited, std::move(question), exact);
  co_return verdict && verdict->kind == calls::ApprovalVerdict::Kind::approved;
}

}  // namespace egress
