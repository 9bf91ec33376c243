#include "jail/talk/run_message.h"

#include <algorithm>

#include "jail/shared_values.h"
#include "jail/talk/guest_channel.h"
#include "supervisor/base/json/json.h"

namespace jail {
namespace {

// The message without its last '}', without code and context_vars, which follow.
std::string small_part(const Request& request) {
  Json run{{"type", request.values_use == Request::Values::write ? "share" : "run"},
           {"execution", request.id},
           {"language", language_name(request.spec.language)},
           {"deadline_ms", request.spec.limits.wall.count()},
           {"workspace", "/workspace"},
           {"max_message", max_message(request)},
           {"tools", Json::array()}};
  if (request.keep_value) run["max_kept"] = max_saved(request);
  if (request.session_call > 0) run["session"] = true;
  if (request.values) run["descriptor"] = true;  // a packet with it follows the message
  if (request.values_use == Request::Values::write) run["most"] = request.values->bytes();
  if (!request.trace.empty()) run["traceparent"] = request.trace;
  std::string text = dump_json(run);
  text.pop_back();
  return text;
}

void append_program(std::string& text, std::string_view code, std::string_view context_vars) {
  if (context_vars.empty()) context_vars = "{}";
  text.reserve(text.size() + code.size() + code.size() / 8 + context_vars.size() + 64);
  text += R"(,"code":)";
  append_json_string(text, code);
  text += R"(,"context_vars":)";
  text += context_vars;
  text += '}';
}

}  // namespace

size_t max_message(const Request& request) {
  return std::min<uint64_t>(request.spec.limits.result_bytes, GuestChannel::kMaxUpBytes - kSlack);
}

uint64_t max_saved(const Request& request) {
  return std::min(request.spec.limits.saved_output_bytes, kMaxKeptValueBytes);
}

std::string run_message(const Request& request) {
  const NamedWork named_work(LoopWork::program_answer, &request.tenant);
  std::string text = small_part(request);
  append_program(text, request.code, request.context_vars);
  return text;
}

Task<Result<>> write_order(Work& work, Request& request) {
  struct Program {
    std::string text, code, context_vars;
  };
  auto program = std::make_shared<Program>();
  program->text = small_part(request);
  program->code = std::move(request.code);
  program->context_vars = std::exchange(request.context_vars, {});
  std::function<Result<bool>()> job = [program]() -> Result<bool> {
    append_program(program->text, program->code, program->context_vars);
    program->context_vars = {};
    return true;
  };
  Work::Owner owner{request.tenant, request.spec.limits.json_bytes_per_second};
  CO_CHECKED(co_await work.run(std::move(owner), 0, std::move(job)));  // it was charged when it was read
  request.code = std::move(program->code);
  request.order = std::make_shared<const std::string>(std::move(program->text));
  co_return Result<>{};
}

}  // namespace jail
