#include "supervisor/base/large_value.h"

#include "supervisor/base/json/json.h"

Task<Result<std::string>> dump_beside(Work& work, Work::Owner owner, Json value) {
  auto whole = std::make_shared<Json>(std::move(value));
  std::function<Result<std::string>()> job = [whole]() -> Result<std::string> {
    std::string text = dump_json(*whole);
    *whole = nullptr;
    return text;
  };
  auto text = co_await work.run(std::move(owner), 0, std::move(job));
  co_return text;
}
