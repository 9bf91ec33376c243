#include "jail/guest_message.h"

using nlohmann::json;

namespace jail {
namespace {

std::string text_of(const json& message, const char* key) {
  const auto found = message.find(key);
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<GuestMessage> read_call(const json& message) {
  GuestCall call;
  call.id = message.value("id", json());
  const auto name = message.find("name");
  if (name == message.end() || !name->is_string() || !call.id.is_number_integer())
    return fail(Code::invalid, "a call without an id or a name");
  call.name = name->get<std::string>();
  call.arguments = message.value("arguments", json::object());
  return call;
}

Result<GuestMessage> read_result(const json& message) {
  GuestResult result;
  const json status = message.value("status", json()), bytes = message.value("read_bytes", json());
  if (status.is_number_unsigned() && status.get<uint64_t>() < 256) result.status = status.get<int>();
  if (const auto value = message.find("value"); value != message.end()) result.value = *value;
  result.value_type = text_of(message, "value_type");
  if (bytes.is_number_unsigned()) result.read_bytes = bytes.get<uint64_t>();
  if (message.contains("error")) {
    result.failed = true;
    result.error = text_of(message, "error");
    result.traceback = text_of(message, "traceback");
    if (const json number = message.value("errno", json()); number.is_number_integer())
      result.error_number = number.get<int>();
  }
  auto images = read_images(message);
  if (!images) return fail(Code::invalid, "an image that is none");
  result.images = *std::move(images);
  return result;
}

}  // namespace

Result<GuestMessage> read_guest_message(const json& message) {
  if (!message.is_object()) return fail(Code::invalid, "an unexpected message");
  const std::string type = text_of(message, "type");
  if (type == "call") return read_call(message);
  if (type == "result") return read_result(message);
  return fail(Code::invalid, "an unexpected message");
}

}  // namespace jail
