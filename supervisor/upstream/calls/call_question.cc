#include "supervisor/upstream/calls/call_question.h"

#include <fmt/format.h>

#include "policies/call_rules.h"
#include "policies/policy_parts.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/upstream/calls/call_pii.h"
#include "supervisor/upstream/calls/freeze_guard.h"

namespace calls {
namespace {

constexpr size_t kMaxFormShown = 16'000;  // bytes of a form, with all its fields

bool asks(const policies::Policy& policy) {
  return policies::calls_of(policy).questions == policies::CallRules::Questions::client;
}

// The schema without titles and descriptions, which never become part of an answer.
Json without_words(Json schema) {
  if (auto fields = schema.find("properties"); fields != schema.end())
    for (Json& field : *fields)
      for (const char* key : {"title", "description"}) field.erase(key);
  return schema;
}

// The form for the client. If the policy tokenises results, or the client's answers are redacted, tokens replace
// personal data in the form. A choice or a field name cannot be replaced, as the answer must hold it unchanged: then
// the person is not asked. Errors: invalid, exhausted.
Task<Result<mcp::ElicitationForm>> form_of(CallEnvironment& environment, const CallContext& context,
                                           const Target& target, const upstream::Question& question) {
  Json output = {{"message", question.message}, {"schema", question.schema}};
  if (tokenises(policies::calls_of(*context.policy)) || context.client.response_filter) {
    CO_TRY(output, co_await tokenise_values(environment, context, std::move(output)));
    if (without_words(output["schema"]) != without_words(question.schema))
      co_return fail(Code::invalid, "its choices contain personal data");
  }
  mcp::ElicitationForm form{question_text(target, output["message"].get_ref<const std::string&>()),
                            dump_json(output["schema"])};
  if (form.message.size() + form.schema.size() > kMaxFormShown)
    co_return fail(Code::invalid, "the question is too long to be shown");
  co_return form;
}

std::string_view verdict_of(mcp::Elicited::Action action) {
  switch (action) {
    case mcp::Elicited::Action::accept:
      return "accepted";
    case mcp::Elicited::Action::decline:
      return "declined";
    case mcp::Elicited::Action::cancel:
      return "dismissed";
    case mcp::Elicited::Action::unable:
      break;
  }
  return "unasked";
}

Task<upstream::Reply> ask_person(CallEnvironment& environment, const CallContext& context, const Target& target,
                                 upstream::Question question) {
  spans::OpenSpan span(environment.spans, context.trace, spans::SpanKind::internal, "question");
  AuditedCall audited(environment.journal, span, context, target, "question");
  audited.set("fields", question.schema["properties"].size());
  audited.set("verdict", "unasked");
  const bool newer_client = mcp::has_elicitation_modes(context.client.version);
  if (environment.questions.closed() || !asks(*context.policy) || !context.client.can_elicit() ||
      (question.wants_2025_11_25 && !newer_client))
    co_return upstream::Reply{};
  const FreezeGuard frozen(context.jail);
  audited.set("verdict", "withdrawn");
  auto form = co_await form_of(environment, context, target, question);
  if (!form) {
    audited.set("verdict", code_name(form.error().code));
    co_return upstream::Reply{};
  }
  OneShot<QuestionEnd> settled(environment.loop);
  auto answered = [resolver = settled.resolver()](mcp::Elicited answer) {
    QuestionEnd end;
    end.answer = std::make_shared<mcp::Elicited>(std::move(answer));
    resolver.resolve(std::move(end));
  };
  const auto request = context.client.elicit(*std::move(form), std::move(answered));
  if (!request) {
    audited.set("verdict", "unasked");
    co_return upstream::Reply{};
  }
  environment.questions.add(settled.resolver());
  if (context.notify)
    context.notify(fmt::format("{} asks: waits for the answer of the person at the client", target.server));
  const std::chrono::milliseconds lasts = policies::calls_of(*context.policy).approval.expires;
  const Deadline expiry(environment.loop, lasts, [resolver = settled.resolver()] {
    QuestionEnd end;
    end.expired = true;
    resolver.resolve_now(std::move(end));
  });
  QuestionEnd end = co_await settled;
  if (!end.answer) {
    if (end.expired) audited.set("verdict", "expired");
    co_return upstream::Reply{};
  }
  mcp::Elicited& answer = *end.answer;
  audited.set("verdict", verdict_of(answer.action));
  upstream::Reply reply;
  if (answer.action == mcp::Elicited::Action::decline) reply.action = upstream::Reply::Action::decline;
  if (answer.action != mcp::Elicited::Action::accept) co_return reply;
  auto content =
      co_await upstream::fitting_content(environment.work, owner_of(context), question, std::move(answer.content));
  if (!content) {
    audited.set("verdict", "unfitting");
    co_return reply;
  }
  reply.action = upstream::Reply::Action::accept;
  reply.content = *std::move(content);
  co_return reply;
}

}  // namespace

std::string question_text(const Target& target, std::string_view message) {
  std::string text = fmt::format(
      "The MCP server '{}' asks this question for its tool '{}'. Warder only forwards it; your answer goes to that "
      "server.\n",
      printable(target.server, 64), printable(target.tool, 128));
  for (size_t at = 0; at <= message.size();) {
    const size_t end = std::min(message.find('\n', at), message.size());
    text += fmt::format("\n> {}", message.substr(at, end - at));
    at = end + 1;
  }
  return text;
}

upstream::Asking asking_for(CallEnvironment& environment, const CallContext& context, const Target& target) {
  upstream::Asking asking;
  asking.owner_name = fmt::format("{} {}", context.principal.name(), context.tenant->account());
  asking.able = asks(*context.policy) && context.client.can_elicit();
  asking.ask = [&environment, &context, &target](upstream::Question question) {
    return ask_person(environment, context, target, std::move(question));
  };
  return asking;
}

}  // namespace calls
