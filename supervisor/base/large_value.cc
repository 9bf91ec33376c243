#include "supervisor/base/large_value.h"

#include "supervisor/base/json.h"
#include "supervisor/base/value_bytes.h"

bool is_read_quickly(std::string_view text) {
  constexpr size_t kFew = 1 << 10;  // bytes, of which the values need not be counted
  return text.size() <= kFew || (text.size() <= JsonWork::kSmall && !has_many_values(text, value_bytes(text)));
}

bool is_large(const Json& value) { return rough_length(value, JsonWork::kSmall + 1) > JsonWork::kSmall; }

Task<Result<std::string>> dump_beside(JsonWork& work, JsonWork::Owner owner, Json value) {
  auto whole = std::make_shared<Json>(std::move(value));
  std::function<Result<std::string>()> job = [whole]() -> Result<std::string> {
    std::string text = dump_json(*whole);
    *whole = nullptr;
    return text;
  };
  auto text = co_await work.run(std::move(owner), 0, std::move(job));
  co_return text;
}
