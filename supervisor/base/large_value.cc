#include "supervisor/base/large_value.h"

#include "supervisor/base/json/json.h"

Task<Result<std::string>> dump_beside(Work& work, Work::Owner owner, Json value) {
  auto document = std::make_shared<Json>(std::move(value));
  std::function<Result<std::string>()> job = [document]() -> Result<std::string> {
    std::string text = dump_json(*document);
    *document = nullptr;
    return text;
  };
  auto text = co_await work.run(std::move(owner), 0, std::move(job));
  co_return text;
}
