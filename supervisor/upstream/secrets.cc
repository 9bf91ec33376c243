#include "supervisor/upstream/secrets.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"

namespace upstream {
namespace {

constexpr size_t kMaxSecret = 64 << 10;
constexpr size_t kMaxName = 32;   // bytes that are shown
constexpr size_t kMinSecret = 6;  // bytes; shorter texts would match by chance

// Each byte is moved once: the server knows its secret and may repeat it a million times.
void replace_all(std::string& text, const std::string& from, const std::string& to) {
  size_t at = text.find(from), begin = 0;
  if (at == text.npos) return;
  std::string all;
  for (; at != text.npos; at = text.find(from, begin)) {
    all.append(text, begin, at - begin).append(to);
    begin = at + from.size();
  }
  text = std::move(all.append(text, begin));
}

bool sounds_secret(std::string_view written) {
  const std::string name = lower_case(written);
  for (const char* word : {"auth", "cookie", "key", "pass", "secret", "token"})
    if (name.find(word) != name.npos) return true;
  return false;
}

std::string without_scheme(const std::string& value) {
  const size_t space = value.find(' ');
  const bool scheme = space != value.npos && value.find(' ', space + 1) == value.npos;
  return scheme ? value.substr(space + 1) : value;
}

}  // namespace

// On the loop, once at each start of the server: few files that an administrator wrote, of at most 64 KiB each. A FIFO
// or a terminal does not block.
Result<Variables> read_secrets(const ServerConfig& config) {
  Variables all;
  for (const auto& [name, file] : config.secrets) {
    Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    auto text = fd ? read_complete(fd.get(), kMaxSecret) : Result<std::string>(fail_errno(errno, "open"));
    if (!text)
      return fail(Code::unavailable,
                  fmt::format("the secret {} cannot be read from {}: {}", name, file, text.error().what),
                  "let the daemon's user read the file (chown, chmod)");
    while (text->ends_with('\n')) text->pop_back();
    all.emplace_back(name, *std::move(text));
  }
  return all;
}

Variables secret_headers(const ServerConfig& config, const Variables& secrets) {
  Variables hidden;
  for (const auto& [name, value] : secrets) hidden.emplace_back(name, without_scheme(value));
  for (const auto& [name, value] : config.headers)
    if (sounds_secret(name)) hidden.emplace_back(name, without_scheme(value));
  return hidden;
}

std::string hide_secrets(const Variables& secrets, std::string_view from) {
  std::string text(from);
  for (const auto& [name, value] : secrets) {
    if (value.size() < kMinSecret) continue;
    const std::string display_text = "[secret " + name.substr(0, kMaxName) + "]";
    replace_all(text, value, display_text);
    std::string quoted;
    append_json_string(quoted, value);
    quoted = quoted.substr(1, quoted.size() - 2);
    if (quoted != value) replace_all(text, quoted, display_text);
  }
  return text;
}

}  // namespace upstream
