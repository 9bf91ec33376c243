#include "supervisor/tools/execution/execution_network.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "supervisor/base/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/calls/audited_call.h"
#include "supervisor/calls/call_approval.h"

namespace tools {
namespace {

constexpr size_t kMostShown = 200;  // bytes of a path in the audit

calls::Target target_of(const egress::EgressEntry& entry) {
  return {"egress", fmt::format("{}:{}", entry.host, entry.port)};
}

calls::PersonsQuestion question_about(const egress::EgressEntry& entry) {
  calls::PersonsQuestion question;
  question.tool = fmt::format("network: {} {}:{}", entry.method, entry.host, entry.port);
  question.rule = entry.rule;
  question.given = {{"method", entry.method}, {"host", entry.host}, {"port", entry.port}};
  if (!entry.path.empty()) question.given["path"] = entry.path;
  return question;
}

}  // namespace

ExecutionNetwork::ExecutionNetwork(egress::EgressLink& link, calls::CallEnvironment& environment,
                                   const calls::CallContext& caller)
    : link_(link),
      environment_(environment),
      caller_(caller),
      rules_(caller.policy->egress),
      waiting_(environment.loop) {}

// A cancelled execution: the jail of its session may live.
ExecutionNetwork::~ExecutionNetwork() {
  if (listener_) egress::refuse_connections(listener_.get());
}

Task<Result<>> ExecutionNetwork::prepare() {
  if (!is_on()) co_return Result<>{};
  CO_TRY(secrets_, co_await link_.read_secrets(rules_));
  co_return Result<>{};
}

void ExecutionNetwork::begin(int listener) {
  waiting_.cancel_all();
  use_.reset();  // of a waiting jail that did not begin
  auto watched = AsyncFd::adopt(environment_.loop, Fd(::fcntl(listener, F_DUPFD_CLOEXEC, 3)));
  if (!watched) {
    egress::refuse_connections(listener);
    trouble_ = watched.error().what;
    return;
  }
  listener_ = *std::move(watched);
  if (!egress::take_connections(listener_.get())) {
    trouble_ = "a process in the jail has taken the port of the proxy";
    return;
  }
  waiting_.spawn(open_at_first_connection());
}

// Most programs open none: they cost the service nothing.
Task<> ExecutionNetwork::open_at_first_connection() {
  co_await listener_.readable();
  auto use = link_.open(listener_.get(), rules_, secrets_, *this);
  if (use) {
    use_ = *std::move(use);
  } else {
    egress::refuse_connections(listener_.get());
    trouble_ = "warder-egress does not answer: " + use.error().what;
  }
}

Task<> ExecutionNetwork::finish() {
  waiting_.cancel_all();
  if (listener_) egress::refuse_connections(listener_.get());
  listener_.close();
  if (!use_) co_return;
  totals_ = co_await use_->finish();
  use_.reset();
}

void ExecutionNetwork::lost() {
  if (listener_) egress::refuse_connections(listener_.get());
  trouble_ = "warder-egress ended while the program ran";
}

void ExecutionNetwork::note(const egress::EgressEntry& entry) {
  traces::OpenSpan span(environment_.spans, caller_.trace, traces::SpanKind::client, "egress");
  calls::AuditedCall audited(environment_.journal, span, caller_, target_of(entry), "egress");
  audited.set("method", entry.method);
  if (!entry.path.empty()) audited.set("path", printable(entry.path, kMostShown));
  if (!entry.rule.empty()) audited.set("rule", entry.rule);
  if (!entry.address.empty()) audited.set("address", entry.address);
  if (!entry.cause.empty()) audited.set("cause", printable(entry.cause, kMostShown));
  audited.set("verdict", entry.verdict == "allowed" ? "ok" : entry.verdict);
}

Task<bool> ExecutionNetwork::ask(egress::EgressEntry entry) {
  traces::OpenSpan span(environment_.spans, caller_.trace, traces::SpanKind::internal, "approval");
  calls::AuditedCall audited(environment_.journal, span, caller_, target_of(entry), "approval");
  calls::PersonsQuestion question = question_about(entry);
  const Json exact = question.given;
  auto verdict = co_await calls::ask_person(environment_, caller_, audited, std::move(question), exact);
  co_return verdict && verdict->kind == calls::ApprovalVerdict::Kind::approved;
}

}  // namespace tools
