#include "supervisor/upstream/transport.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace upstream {

std::string text_before_arguments(const Json& message) {
  std::string text = dump_json(message);
  text.resize(text.size() - kAfterArguments.size());
  text += message["params"].empty() ? R"("arguments":)" : R"(,"arguments":)";
  return text;
}

}  // namespace upstream
