#include "supervisor/cluster/bus/jetstream.h"

#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/bus/subjects.h"

namespace cluster {
namespace {

// JetStream's err_codes for a revision that is not the expected one; the second came with nats-server 2.11.
constexpr int64_t kWrongRevision = 10'071;
constexpr int64_t kWrongRevisionConstant = 10'164;

}  // namespace

Task<Result<JetStreamAnswer>> ask_jetstream(std::shared_ptr<NatsCore> core, OutgoingMessage question,
                                            std::string action, std::chrono::milliseconds limit) {
  auto message = co_await NatsCore::request(core, std::move(question), action, limit);
  if (!message && no_responders(message.error()))
    co_return fail(Code::unavailable,
                   fmt::format("{}: the server has no JetStream, or no leader of the bucket", action),
                   "enable jetstream in the servers' configuration, or wait until they have elected a leader");
  if (!message) co_return tl::unexpected<Error>(std::move(message).error());
  Result<Json> parsed = parse_json(message->bytes);
  if (!parsed || !parsed->is_object())
    co_return fail(Code::internal, fmt::format("{}: JetStream's answer is no JSON object", action));
  JetStreamAnswer answer;
  answer.object = *std::move(parsed);
  if (const auto error = answer.object.find("error"); error != answer.object.end() && error->is_object()) {
    answer.error_code = static_cast<int64_t>(number_member(*error, "err_code"));
    if (answer.error_code == 0) answer.error_code = -1;
    answer.error_text = printable(text_member(*error, "description"));
  }
  co_return answer;
}

OutgoingMessage jetstream_question(std::string_view interface, const Json& body) {
  OutgoingMessage question;
  question.subject = fmt::format("$JS.API.{}", interface);
  question.bytes = dump_json(body);
  return question;
}

bool is_revision_conflict(const JetStreamAnswer& answer) {
  return answer.error_code == kWrongRevision || answer.error_code == kWrongRevisionConstant;
}

tl::unexpected<Error> jetstream_error(std::string_view action, const JetStreamAnswer& answer) {
  return fail(Code::unavailable, fmt::format("{}: JetStream refuses: {}", action, answer.error_text),
              answer.error_code == kStreamNotFound ? "the bucket was lost: open it again" : "see the server's log");
}

std::string stream_of(std::string_view bucket) { return fmt::format("KV_{}", bucket); }
std::string subject_of(std::string_view bucket, std::string_view key) { return fmt::format("$KV.{}.{}", bucket, key); }

Result<std::string> key_of(std::string_view bucket, std::string_view subject) {
  const std::string prefix = subject_of(bucket, "");
  if (!subject.starts_with(prefix) || !check_subject(subject.substr(prefix.size())))
    return fail(Code::internal, fmt::format("'{}' is no key of the bucket '{}'", printable(subject), bucket));
  return std::string(subject.substr(prefix.size()));
}

}  // namespace cluster
