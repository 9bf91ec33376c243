#include "supervisor/programs/agent/agent_settings.h"

#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "supervisor/base/environment.h"
#include "supervisor/base/loopback.h"
#include "supervisor/base/path.h"
#include "supervisor/base/trimmed.h"
#include "supervisor/programs/cli/amounts.h"
#include "supervisor/protocol/http/client.h"

namespace agent {
namespace {

constexpr size_t kMaxSecretBytes = 8 << 10;

// The number of a flag, or `otherwise` if the flag is not given.
Result<double> amount(const std::string& text, const char* flag, cli::AmountRange range, double otherwise) {
  if (text.empty()) return otherwise;
  auto value = cli::parse_amount(text, range);
  if (!value) return tl::unexpected(std::move(value).error().within(flag));
  return *value;
}

Result<uint64_t> number(const std::string& text, const char* flag, cli::AmountRange range, double otherwise) {
  TRY(const double value, amount(text, flag, range, otherwise));
  if (value != std::floor(value))
    return fail(Code::invalid, std::string(flag) + ": '" + text + "' is not a whole number");
  return static_cast<uint64_t>(value);
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

Result<AgentBounds> read_bounds(const cli::AgentArguments& arguments) {
  AgentBounds bounds;
  TRY(const uint64_t turns, number(arguments.max_turns, "--max-turns", {"turns", 1, 1000, "--max-turns 20"}, 20));
  TRY(bounds.tokens, number(arguments.max_tokens, "--max-tokens", {"tokens", 1, 1e12, "--max-tokens 200000"}, 0));
  TRY(const double seconds,
      amount(arguments.max_seconds, "--max-seconds", {"seconds", 0.1, 604800, "--max-seconds 600"}, 600));
  TRY(bounds.cost, amount(arguments.max_cost, "--max-cost", {"money", 1e-6, 1e9, "--max-cost 0.50"}, 0));
  TRY(const uint64_t errors, number(arguments.max_errors, "--max-errors", {"calls", 1, 1000, "--max-errors 5"}, 5));
  TRY(const uint64_t retries, number(arguments.retries, "--retries", {"retries", 0, 100, "--retries 5"}, 5));
  TRY(const double pause, amount(arguments.retry_pause, "--retry-pause", {"seconds", 0.001, 60, "--retry-pause 1"}, 1));
  bounds.turns = static_cast<unsigned>(turns);
  bounds.errors = static_cast<unsigned>(errors);
  bounds.retries = static_cast<unsigned>(retries);
  bounds.time = milliseconds(seconds);
  bounds.retry_pause = milliseconds(pause);
  return bounds;
}

// Empty: there is no key. Servers on this machine often want none.
Result<std::string> read_key() {
  const std::string folder = environment("CREDENTIALS_DIRECTORY");
  const std::string file = folder + "/llm-api-key";
  std::string key = environment("LLM_API_KEY");
  if (!folder.empty() && ::access(file.c_str(), F_OK) == 0) {
    TRY(key, read_secret_file(file, "the credential llm-api-key"));
  }
  const bool is_plain = std::all_of(key.begin(), key.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (is_plain && key.size() <= kMaxSecretBytes) return key;
  return fail(Code::invalid, "the key of the model's API ($LLM_API_KEY or the credential llm-api-key) is not one word",
              "give the key alone, without quotes");
}

Result<std::string> read_base_url(const cli::AgentArguments& arguments, ModelProvider provider) {
  const std::string set = environment("LLM_BASE_URL");
  std::string url = !arguments.base_url.empty() ? arguments.base_url : set;
  if (url.empty()) url = provider == ModelProvider::openai ? "https://api.openai.com/v1" : "https://api.anthropic.com";
  while (url.ends_with('/')) url.pop_back();
  auto parts = http::parse_url(url);
  if (!parts)
    return tl::unexpected(std::move(parts).error().within(arguments.base_url.empty() ? "LLM_BASE_URL" : "--base-url"));
  return url;
}

// The key must not cross a network in plain text.
Result<> check_key_is_hidden(const std::string& base_url, const std::string& key) {
  TRY(const http::UrlParts url, http::parse_url(base_url));
  if (key.empty() || url.secure ||
      is_loopback_host(url.host.find(':') == url.host.npos ? url.host : "[" + url.host + "]"))
    return {};
  return fail(Code::invalid, "the key of the model's API would cross the network unencrypted to " + url.host,
              "give a --base-url that begins with https://");
}

}  // namespace

Result<AgentSettings> read_agent_settings(const cli::AgentArguments& arguments) {
  AgentSettings settings;
  if (arguments.provider == "anthropic") settings.provider = ModelProvider::anthropic;
  TRY(settings.base_url, read_base_url(arguments, settings.provider));
  settings.model = !arguments.model.empty() ? arguments.model : environment("LLM_MODEL");
  if (settings.model.empty()) return fail(Code::invalid, "no model is named", "give --model NAME, or set LLM_MODEL");
  TRY(settings.key, read_key());
  CHECKED(check_key_is_hidden(settings.base_url, settings.key));
  TRY(settings.bounds, read_bounds(arguments));
  TRY(settings.prices.in, amount(arguments.price_in, "--price-in", {"money", 0, 1e9, "--price-in 2.50"}, 0));
  TRY(settings.prices.out, amount(arguments.price_out, "--price-out", {"money", 0, 1e9, "--price-out 10"}, 0));
  if (settings.bounds.cost > 0 && settings.prices.in + settings.prices.out <= 0)
    return fail(Code::invalid, "--max-cost: the prices of tokens are not known",
                "give --price-in and --price-out, for a million tokens");
  TRY(const uint64_t tasks, number(arguments.tasks, "--tasks", {"tasks", 1, 256, "--tasks 4"}, 4));
  settings.tasks = static_cast<unsigned>(tasks);
  return settings;
}

std::string without_key(std::string text, const std::string& key) {
  for (size_t at = 0; !key.empty() && (at = text.find(key, at)) != text.npos;) text.replace(at, key.size(), "[key]");
  return text;
}

Result<std::string> read_secret_file(const std::string& path, const std::string& name) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail_errno(errno, name + ": open '" + path + "'", Code::invalid);
  auto text = read_complete(file.get(), kMaxSecretBytes);
  if (!text) return tl::unexpected(std::move(text).error().within(name));
  return std::string(trimmed(*text, " \t\r\n"));
}

}  // namespace agent
