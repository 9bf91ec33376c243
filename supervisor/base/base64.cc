#include "supervisor/base/base64.h"

#include <array>
#include <cstdint>

namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNone = 0xFF;

constexpr std::array<uint8_t, 256> make_values() {
  std::array<uint8_t, 256> values{};
  for (auto& value : values) value = kNone;
  for (size_t i = 0; i < kAlphabet.size(); i++)
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<uint8_t>(i);
  return values;
}
constexpr std::array<uint8_t, 256> kValues = make_values();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    auto byte = [&](size_t at) -> uint32_t { return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0; };
    uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += kAlphabet[group >> 18];
    text += kAlphabet[group >> 12 & 63];
    text += i + 1 < bytes.size() ? kAlphabet[group >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kAlphabet[group & 63] : '=';
  }
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  auto wrong = [](std::string what) {
    return fail(Code::invalid, std::move(what), "send standard base64 with padding");
  };
  if (text.size() % 4 != 0) return wrong("not base64: its length is not a multiple of 4");
  size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  for (size_t i = 0; i < text.size(); i++) {
    uint8_t value = i < text.size() - padding ? kValues[static_cast<unsigned char>(text[i])] : 0;
    if (value == kNone) return wrong("not base64: byte " + std::to_string(i));
    group = group << 6 | value;
    if (i % 4 != 3) continue;
    bytes += static_cast<char>(group >> 16 & 0xFF);
    bytes += static_cast<char>(group >> 8 & 0xFF);
    bytes += static_cast<char>(group & 0xFF);
  }
  bool dirty = (padding == 1 && (group & 0xFF) != 0) || (padding == 2 && (group & 0xFFFF) != 0);
  if (dirty) return wrong("not base64: bits are set beyond its end");
  bytes.resize(bytes.size() - padding);
  return bytes;
}
