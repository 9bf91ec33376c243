#include "supervisor/base/base64.h"

#include <sodium.h>

#include <algorithm>

namespace {

constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

tl::unexpected<Error> not_base64(std::string why) {
  return fail(Code::invalid, "not base64: " + std::move(why), "send standard base64 with padding");
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  if (bytes.empty()) return {};
  std::string text(sodium_base64_encoded_len(bytes.size(), kVariant), '\0');  // with a NUL at its end
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                    kVariant);
  text.pop_back();
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return not_base64("its length is not a multiple of 4");
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes(text.size() / 4 * 3, '\0');
  size_t size = 0;
  // libsodium 1.0.18 takes some bytes above 127 for letters.
  const bool is_ascii =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
  // No end is asked for: text behind the padding, and bits that are set beyond the last byte, are errors then.
  if (!is_ascii || sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                                     text.size(), nullptr, &size, nullptr, kVariant) != 0) {
    const size_t at = text.substr(0, text.size() - padding).find_first_not_of(kAlphabet);
    return not_base64(at == text.npos ? "bits are set beyond its end" : "byte " + std::to_string(at));
  }
  bytes.resize(size);
  return bytes;
}

Result<std::string> from_sent_base64(std::string_view text) {
  std::string plain;
  plain.reserve(text.size() + 2);
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    plain += c == '-' ? '+' : c == '_' ? '/' : c;
  }
  if (plain.size() % 4 >= 2 && !plain.ends_with('=')) plain.append(4 - plain.size() % 4, '=');
  return from_base64(plain);
}
