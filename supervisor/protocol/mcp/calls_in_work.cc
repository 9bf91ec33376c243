// The part of Conversation that runs calls: requests with a handler, from their start to their answer.
#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/conversation.h"

namespace mcp {
namespace {

constexpr size_t kCallBytes = 24 << 10;  // memory of a waiting request: its task, its context, a short message

// Counts one call while it waits for room in the user's account of unread answers.
class HeldUp {
 public:
  explicit HeldUp(std::shared_ptr<RequestCounts> counts) : counts_(std::move(counts)) { counts_->held_up++; }
  ~HeldUp() { counts_->held_up--; }
  HeldUp(const HeldUp&) = delete;
  HeldUp& operator=(const HeldUp&) = delete;

 private:
  std::shared_ptr<RequestCounts> counts_;
};

}  // namespace

// The error for the limit that one more request would exceed; nullopt: it would exceed no limit.
std::optional<RpcError> Conversation::find_limit(const RequestId& id, size_t bytes, bool queues) const {
  const size_t in_work = queues ? counts_->queued : counts_->calls;
  const size_t max = queues ? limits_.queued_calls : limits_.calls;
  const Account& account = *client_.account;
  std::string why;
  if (in_work >= max) {
    why = fmt::format("this connection already has {} requests in work or waiting", in_work);
  } else if (counts_->id_bytes + id.wire.size() > limits_.id_bytes) {
    why = fmt::format("the ids of this connection's unanswered requests have {} bytes", counts_->id_bytes);
  } else if (account.call_bytes + bytes > account.max_call_bytes) {
    why = fmt::format("your requests that run or wait already take {} MiB of memory", account.call_bytes >> 20);
  } else {
    return {};
  }
  return RpcError{ErrorCode::internal_error,
                  why + "; this request did not run",
                  {{"code", "exhausted"}, {"remedy", "wait for some answers, then send the request again"}}};
}

void Conversation::start_call(Method method, Message&& message, const MessageMeasure& measure, RequestMeta meta,
                              Version version, const Batch& batch) {
  if (meta.modern && message.params.contains("requestState")) return resume(message, measure, std::move(meta));
  if (method != Method::tools_call && is_large(message.params)) {
    const auto text = fmt::format("Invalid params: {} has more than {} KiB", message.method, kSmallText >> 10);
    return refuse(message.id, {ErrorCode::invalid_params, text, {}}, batch);
  }
  const bool queues = method == Method::tools_call && server_.queues(message.params);
  const size_t bytes = measure.bytes + kCallBytes;
  if (auto limit = find_limit(message.id, bytes, queues)) return refuse(message.id, *limit, batch);
  if (batch && client_.account->unread->is_over()) {  // the request and its array would wait for each other
    const auto why = fmt::format("your unread answers take {} MiB of memory; this request did not run",
                                 client_.account->unread->bytes() >> 20);
    const Json data = {{"code", "exhausted"}, {"remedy", "read the answers, then send the request again"}};
    return refuse(message.id, {ErrorCode::internal_error, why, data}, batch);
  }
  const bool is_tool_call = method == Method::tools_call && server_.task_calls();
  std::optional<int64_t> ttl_ms;
  if (is_tool_call && has_core_tasks(version)) {
    const auto request = server_.requested_task_ttl(message.params);
    if (!request) return refuse(message.id, request.error(), batch);
    ttl_ms = *request;
  }
  auto running_call = std::make_unique<RunningCall>(loop_, server_, static_cast<CallHost&>(*this), message.id, version);
  RunningCall& call = *calls_.emplace(message.id, std::move(running_call)).first->second;
  call.batch = batch;
  RequestContext& context = call.context;
  context.method = std::move(message.method);
  context.principal = client_.principal;
  context.user = client_.user;
  context.client =
      meta.modern
          ? std::make_shared<ClientInfo>(ClientInfo{std::move(meta.client_capabilities), std::move(meta.client_info)})
          : settings_.client;
  context.meta = std::move(meta.all);
  context.set_notifications(std::move(meta.progress_token), meta.modern ? meta.log_level : settings_.log_level);

  call.share.emplace(counts_, client_.account, queues, message.id.wire.size(), bytes);
  call.unread.emplace(client_.account->unread);
  call.embedded = embedded_;
  sink_.calls_changed();
  if (meta.modern && can_ask_any(context.client->capabilities, version)) {
    call.digest = measure.digest ? *measure.digest : digest_of(message.params);
    if (const auto early = message.params.find("inputResponses"); early != message.params.end() && !is_large(*early))
      call.answers = *early;
  }
  call.requested_ttl_ms = ttl_ms;
  call.may_be_task = is_tool_call && server_.may_be_task(message.params);
  promote_later(call);
  call.task.emplace(run_call(call, method, FreedBeside(server_.work(), std::move(message.params))));
  call.task->resume();
}

// After the wait, this function uses only the call: a parked call may outlive the conversation.
Task<> Conversation::run_call(RunningCall& call, Method method, FreedBeside params) {
  while (sink_.is_over_limit()) {
    HeldUp held_up(counts_);
    auto room = std::make_shared<Event>();
    sink_.wait_for_room(room);
    co_await *room;
  }
  Server& server = server_;
  const size_t max = limits_.reply_bytes;
  if (call.requested_ttl_ms) {
    auto started = co_await call.context.become_task();
    if (!started) {
      call.host->finish(call, tl::unexpected(rpc_error(started.error())));
      co_return;
    }
  }
  auto running = call.run(server, method, std::move(params), max);
  co_await std::move(running);
}

void Conversation::notify(const RunningCall& call, std::string line) {
  sink_.notify(&call.context.id, std::move(line), Sink::Delivery::if_room);
}

void Conversation::finish(RunningCall& call, Answer answer) {
  call.context.close();
  auto node = calls_.extract(call.context.id);
  if (node.empty()) return;  // in the destructor
  const RequestId& id = call.context.id;
  call.unread->set(0);
  const NamedWork named_work(LoopWork::answer, &name());
  const auto error = answer ? std::nullopt : std::optional(answer.error().code);
  reply(&id, answer ? result_line(id, *answer) : error_line(id, answer.error()), error,
        std::exchange(call.batch, nullptr));
  call.share.reset();
  call.busy.reset();
  // Destroyed later, because the call's task is on the stack.
  loop_.defer([done = std::shared_ptr<RunningCall>(std::move(node.mapped()))] {});
  sink_.calls_changed();
}

void Conversation::cancel(const RequestId& id) {
  const auto cancelled = calls_.extract(id);  // destroyed here, with its handler
  if (cancelled) sink_.calls_changed();
}

}  // namespace mcp
