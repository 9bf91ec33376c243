#include "jail/talk/guest_message.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/value_bytes.h"

namespace jail {
namespace {

constexpr size_t kCountFrom = 64 << 10;    // shorter texts cannot hold many values
constexpr size_t kMaxEnvelopeBytes = 512;  // bytes that our runners write before the arguments of a call

// Moves the value at `key` out of `message`, because results are large. Null if there is none.
Json take_member(Json& message, const char* key) {
  const auto it = message.find(key);
  return it == message.end() ? Json() : std::move(*it);
}

std::string text_of(Json& message, const char* key) {
  Json text = take_member(message, key);
  return text.is_string() ? std::move(text.get_ref<std::string&>()) : std::string();
}

Result<GuestMessage> read_call(Json& message) {
  GuestCall call;
  call.id = message.value("id", Json());
  const auto name = message.find("name");
  if (name == message.end() || !name->is_string() || !call.id.is_number_integer())
    return fail(Code::invalid, "a call without an id or a name");
  call.name = name->get<std::string>();
  if (message.contains("arguments")) call.arguments = take_member(message, "arguments");
  return call;
}

Result<GuestMessage> read_result(Json& message) {
  GuestResult result;
  const Json status = message.value("status", Json()), bytes = message.value("read_bytes", Json());
  if (status.is_number_unsigned() && status.get<uint64_t>() < 256) result.status = status.get<int>();
  if (message.contains("value")) result.value = take_member(message, "value");
  const std::string form = text_of(message, "kept");
  if (!form.empty() && !result.value) result.form = form == "text" ? ValueForm::text : ValueForm::json;
  result.value_type = text_of(message, "value_type");
  if (bytes.is_number_unsigned()) result.read_bytes = bytes.get<uint64_t>();
  if (message.contains("error")) {
    result.failed = true;
    result.error = text_of(message, "error");
    result.traceback = text_of(message, "traceback");
    if (const Json number = message.value("errno", Json()); number.is_number_integer())
      result.error_number = number.get<int>();
  }
  auto images = read_images(message);
  if (!images) return fail(Code::invalid, "an image without a valid type and data");
  result.images = *std::move(images);
  return result;
}

// Refuses a call with too many arguments, if it has the form that our runners write. The error goes to the code
// that made the call, which can then send less.
Result<GuestMessage> refuse_call(std::string_view text, size_t bytes) {
  const size_t arguments = text.substr(0, kMaxEnvelopeBytes).find(R"(,"arguments":)");
  const auto too_many = fail(
      Code::exhausted,
      fmt::format("the arguments would take {} MiB of memory, {} are allowed", bytes >> 20, kMaxCallValueBytes >> 20),
      "write the arguments to a file of the workspace and send its name, or send them in parts or as one string");
  if (arguments == text.npos) return fail(Code::invalid, "a message with too many values");
  auto envelope = parse_json(std::string(text.substr(0, arguments)) + "}");
  if (!envelope || !envelope->is_object() || text_of(*envelope, "type") != "call")
    return fail(Code::invalid, "a message with too many values");
  TRY(GuestMessage message, read_call(*envelope));
  std::get<GuestCall>(message).refused = too_many.value();
  return message;
}

}  // namespace

Result<GuestMessage> read_guest_text(std::string_view text) {
  // Memory of the values without the text itself. A text may be one long string, and value_bytes() counts its bytes
  // twice.
  const size_t counted = text.size() > kCountFrom ? value_bytes(text) : 0;
  const size_t bytes = counted - std::min(counted, 2 * text.size());
  // Our runners write the type first, so that a call can be refused without parsing it.
  if (bytes > kMaxResultValueBytes || (bytes > kMaxCallValueBytes && text.starts_with(R"({"type":"call",)")))
    return refuse_call(text, bytes);
  TRY(Json message, parse_json(text));
  if (!message.is_object()) return fail(Code::invalid, "a message of the guest is not an object");
  TRY(GuestMessage guest_message, read_guest_message(std::move(message)));
  if (bytes > kMaxCallValueBytes && std::holds_alternative<GuestCall>(guest_message)) return refuse_call(text, bytes);
  return guest_message;
}

Result<GuestMessage> read_guest_message(Json message) {
  if (!message.is_object()) return fail(Code::invalid, "an unexpected message");
  const std::string type = text_of(message, "type");
  if (type == "call") return read_call(message);
  if (type == "result") return read_result(message);
  return fail(Code::invalid, "an unexpected message");
}

}  // namespace jail
