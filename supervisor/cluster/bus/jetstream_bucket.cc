#include "supervisor/cluster/bus/jetstream_bucket.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/base64.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/cluster/bus/jetstream.h"
#include "supervisor/cluster/bus/jetstream_watch.h"
#include "supervisor/cluster/bus/subjects.h"

namespace cluster {
namespace {

constexpr const char* kExpectedRevision = "Nats-Expected-Last-Subject-Sequence";
constexpr const char* kOperation = "KV-Operation";
constexpr size_t kHeaderRoom = 1 << 10;  // bytes of a value's headers

// What the functions of one bucket share; they may outlive it.
struct BucketSubjects {
  std::shared_ptr<NatsCore> core;
  std::string name;
  BucketSettings settings;
  std::chrono::milliseconds limit;

  std::string action(std::string_view verb, std::string_view key) const {
    return fmt::format("{} '{}' of the bucket '{}'", verb, key, name);
  }
  Result<> check(std::string_view key, std::string_view bytes) const {
    CHECKED(check_subject(key));
    if (bytes.size() > settings.max_value_bytes) return too_large_error(key, bytes.size(), settings.max_value_bytes);
    return {};
  }
};

Json stream_settings(const BucketSubjects& bucket) {
  return {{"name", stream_of(bucket.name)},
          {"subjects", Json::array({subject_of(bucket.name, ">")})},
          {"retention", "limits"},
          {"storage", "file"},
          {"discard", "new"},
          {"max_msgs_per_subject", 1},
          {"max_consumers", -1},
          {"max_msgs", -1},
          {"max_bytes", -1},
          {"max_msg_size", bucket.settings.max_value_bytes + kHeaderRoom},
          {"num_replicas", bucket.settings.replicas},
          {"deny_delete", true},
          {"allow_rollup_hdrs", true},
          {"allow_direct", true}};
}

WatchedBucket watched(const BucketSubjects& bucket, std::string filter) {
  return {bucket.name, std::move(filter), bucket.settings.max_watched_bytes, dump_json(stream_settings(bucket))};
}

// The last message of a key: a value, or its removal.
struct LastMessage {
  uint64_t revision = 0;  // 0: the key has no message
  bool is_removal = false;
  std::string bytes;
};

bool says_removed(std::string_view headers) {
  return headers.find("\r\nKV-Operation: DEL\r\n") != headers.npos ||
         headers.find("\r\nKV-Operation: PURGE\r\n") != headers.npos;
}

Task<Result<LastMessage>> last_message(BucketSubjects bucket, std::string key) {
  const std::string action = bucket.action("read", key);
  const Json body = {{"last_by_subj", subject_of(bucket.name, key)}};
  OutgoingMessage question = jetstream_question("STREAM.MSG.GET." + stream_of(bucket.name), body);
  CO_TRY(const JetStreamAnswer answer, co_await ask_jetstream(bucket.core, std::move(question), action, bucket.limit));
  LastMessage last;
  if (answer.error_code == kNoSuchMessage) co_return last;
  if (answer.error_code != 0) co_return jetstream_error(action, answer);
  const auto message = answer.object.find("message");
  if (message == answer.object.end() || !message->is_object())
    co_return fail(Code::internal, action + ": JetStream's answer has no message");
  last.revision = number_member(*message, "seq");
  CO_TRY(const std::string headers, from_base64(text_member(*message, "hdrs")));
  last.is_removal = says_removed(headers);
  CO_TRY(last.bytes, from_base64(text_member(*message, "data")));
  co_return last;
}

// Writes a value, or with `operation` its removal, if the key's last revision is `expected`; nullopt: always.
Task<Result<KvWrite>> write(BucketSubjects bucket, std::string key, std::string bytes, std::optional<uint64_t> expected,
                            std::string operation) {
  CO_CHECKED(bucket.check(key, bytes));
  const std::string action = bucket.action(operation.empty() ? "write" : "remove", key);
  OutgoingMessage message;
  message.subject = subject_of(bucket.name, key);
  message.bytes = std::move(bytes);
  if (expected) message.headers.emplace_back(kExpectedRevision, std::to_string(*expected));
  if (!operation.empty()) message.headers.emplace_back(kOperation, operation);
  CO_TRY(const JetStreamAnswer answer, co_await ask_jetstream(bucket.core, std::move(message), action, bucket.limit));
  KvWrite outcome;
  if (is_revision_conflict(answer)) co_return outcome;
  if (answer.error_code != 0) co_return jetstream_error(action, answer);
  outcome.revision = number_member(answer.object, "seq");
  outcome.written = outcome.revision > 0;
  if (!outcome.written) co_return fail(Code::internal, action + ": JetStream's answer has no sequence number");
  co_return outcome;
}

Task<Result<std::optional<KvEntry>>> get_value(BucketSubjects bucket, std::string key) {
  CO_CHECKED(check_subject(key));
  CO_TRY(LastMessage last, co_await last_message(std::move(bucket), std::move(key)));
  std::optional<KvEntry> entry;
  if (last.revision > 0 && !last.is_removal) {
    entry.emplace();
    entry->bytes = std::move(last.bytes);
    entry->revision = last.revision;
  }
  co_return entry;
}

Task<Result<uint64_t>> put_value(BucketSubjects bucket, std::string key, std::string bytes) {
  CO_TRY(const KvWrite outcome, co_await write(std::move(bucket), std::move(key), std::move(bytes), std::nullopt, ""));
  co_return outcome.revision;
}

Task<Result<KvWrite>> create_value(BucketSubjects bucket, std::string key, std::string bytes) {
  CO_TRY(KvWrite outcome, co_await write(bucket, key, bytes, 0, ""));
  if (outcome.written) co_return outcome;
  CO_TRY(const LastMessage last, co_await last_message(bucket, key));
  if (!last.is_removal) co_return outcome;
  // The last message is the removal of an earlier value: the new one follows that.
  CO_TRY(outcome, co_await write(std::move(bucket), std::move(key), std::move(bytes), last.revision, ""));
  co_return outcome;
}

Task<Result<std::vector<std::string>>> list_keys(BucketSubjects bucket) {
  const std::string action = bucket.action("list", ">");
  auto watch = watch_jetstream_bucket(bucket.core, watched(bucket, ">"));
  std::vector<std::string> keys;
  bool late = false;
  const Deadline deadline(bucket.core->loop(), bucket.limit, [&watch, &late] {
    late = true;
    watch.reset();
  });
  for (;;) {
    auto next = co_await watch->next();
    if (late) co_return timeout_error(action, bucket.limit);
    CO_TRY(KvChange change, std::move(next));
    if (change.kind == KvChange::Kind::current) break;
    if (change.kind == KvChange::Kind::value) keys.push_back(std::move(change.key));
    if (change.kind == KvChange::Kind::removed) std::erase(keys, change.key);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  co_return keys;
}

class JetStreamBucket : public KvBucket {
 public:
  explicit JetStreamBucket(BucketSubjects bucket) : subjects_(std::move(bucket)) {}
  Task<Result<std::optional<KvEntry>>> get(std::string key) override { return get_value(subjects_, std::move(key)); }
  Task<Result<uint64_t>> put(std::string key, std::string bytes) override {
    return put_value(subjects_, std::move(key), std::move(bytes));
  }
  Task<Result<KvWrite>> create(std::string key, std::string bytes) override {
    return create_value(subjects_, std::move(key), std::move(bytes));
  }
  Task<Result<KvWrite>> update(std::string key, std::string bytes, uint64_t revision) override {
    return write(subjects_, std::move(key), std::move(bytes), revision, "");
  }
  Task<Result<KvWrite>> remove(std::string key, std::optional<uint64_t> revision) override {
    return write(subjects_, std::move(key), "", revision, "DEL");
  }
  Task<Result<std::vector<std::string>>> keys() override { return list_keys(subjects_); }
  Result<std::unique_ptr<KvWatch>> watch(std::string filter) override {
    CHECKED(check_filter(filter));
    return watch_jetstream_bucket(subjects_.core, watched(subjects_, std::move(filter)));
  }

 private:
  const BucketSubjects subjects_;
};

}  // namespace

Task<Result<std::unique_ptr<KvBucket>>> open_jetstream_bucket(std::shared_ptr<NatsCore> core, std::string name,
                                                              BucketSettings settings,
                                                              std::chrono::milliseconds limit) {
  BucketSubjects bucket;
  bucket.core = std::move(core);
  bucket.name = std::move(name);
  bucket.settings = settings;
  bucket.limit = limit;
  const std::string action = fmt::format("open the bucket '{}'", bucket.name);
  OutgoingMessage message = jetstream_question("STREAM.INFO." + stream_of(bucket.name), Json::object());
  CO_TRY(JetStreamAnswer answer, co_await ask_jetstream(bucket.core, std::move(message), action, limit));
  if (answer.error_code == kStreamNotFound) {
    OutgoingMessage create = jetstream_question("STREAM.CREATE." + stream_of(bucket.name), stream_settings(bucket));
    CO_TRY(answer, co_await ask_jetstream(bucket.core, std::move(create), action, limit));
    if (answer.error_code == kStreamNameInUse) answer.error_code = 0;  // another node was faster
  }
  if (answer.error_code != 0) co_return jetstream_error(action, answer);
  co_return std::unique_ptr<KvBucket>(std::make_unique<JetStreamBucket>(std::move(bucket)));
}

}  // namespace cluster
