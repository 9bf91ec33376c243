// ResponseFilter: redacts every text of one request's answer before it is sent: results, errors, resources, prompts.
// Source: the program gives the server a function that makes a filter for each request (Server::set_response_filter).
// Errors: if a text cannot be redacted, the whole answer is withheld. Not redacted: images and other binary data,
// `_meta`, and texts that the client itself has just sent (ids, the URI it reads).
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/protocol/mcp/content.h"
#include "supervisor/protocol/mcp/jsonrpc.h"

namespace mcp {

class RequestContext;
struct ResourcePage;
struct Prompt;
struct PromptResult;
struct Completion;

// TextFilter: replaces one text after the other, in a job.
class TextFilter {
 public:
  virtual ~TextFilter() = default;
  // Returns the replacement for `text`.
  virtual Result<std::string> redact(std::string_view text) = 0;
};

class ResponseFilter {
 public:
  using Job = std::function<Result<>(TextFilter&)>;
  virtual ~ResponseFilter() = default;
  // Runs the job beside the loop, as the texts may be long. The job owns all that it uses. The answer may be sent when
  // the task is done. Errors: those of the job; the answer is withheld.
  virtual Task<Result<>> apply(Job job) = 0;
};
// Makes the filter of a request; nullptr: the request's answer is sent as it is.
using ResponseFilterOf = std::function<std::unique_ptr<ResponseFilter>(const RequestContext&)>;

// Each function redacts all texts in place. A text with JSON is redacted value by value, so that it stays JSON.
Result<> redact(TextFilter& filter, ToolResult& result);
Result<> redact(TextFilter& filter, std::vector<ResourceContents>& contents);
Result<> redact(TextFilter& filter, ResourcePage& page);
Result<> redact(TextFilter& filter, std::vector<Prompt>& prompts);
Result<> redact(TextFilter& filter, PromptResult& result);
Result<> redact(TextFilter& filter, Completion& completion);
Result<> redact(TextFilter& filter, RpcError& error);
// Redacts one value. The function has its own name because Json converts to the other types.
Result<> redact_value(TextFilter& filter, Json& value);

// How many times an answer is in memory at once: as it was made and as a line; with a filter, also a part that is
// redacted.
inline size_t copies_of_answer(const std::shared_ptr<ResponseFilter>& response_filter) {
  return response_filter ? 3 : 2;
}

template <class Texts>
Result<> redact_any(TextFilter& filter, Texts& texts) {
  if constexpr (std::is_same_v<Texts, Json>) {
    return redact_value(filter, texts);
  } else {
    return redact(filter, texts);
  }
}

// The error that replaces an answer when its texts could not be redacted.
Error withheld(Error why);
// Redacts an answer; does not change it when there is no filter. `texts` must outlive the task.
template <class Texts>
Task<Result<>> redact_answer(std::shared_ptr<ResponseFilter> response_filter, Texts& texts) {
  if (!response_filter) co_return Result<>{};
  auto reserved = std::make_shared<Texts>(std::move(texts));
  ResponseFilter::Job job = [reserved](TextFilter& filter) { return redact_any(filter, *reserved); };
  Result<> hidden = co_await response_filter->apply(std::move(job));
  if (!hidden) co_return tl::unexpected<Error>(withheld(std::move(hidden).error()));
  texts = std::move(*reserved);
  co_return Result<>{};
}

}  // namespace mcp
