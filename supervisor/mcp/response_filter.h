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

#include "supervisor/base/busy_time.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/mcp/content.h"
#include "supervisor/mcp/jsonrpc.h"

namespace mcp {

class RequestContext;
struct ResourcePage;
struct Prompt;
struct PromptResult;
struct Completion;

class ResponseFilter {
 public:
  virtual ~ResponseFilter() = default;
  // Announces the texts that redact() will be called with. A filter that needs long for them does the work here, so
  // that other requests can run meanwhile. No errors: redact() reports them.
  virtual Task<> prepare(std::vector<std::string> texts) {
    (void)texts;
    co_return;
  }
  // Loads the data that redact() needs. Called before each answer's first redact(). Errors: as redact().
  virtual Task<Result<>> ready() { co_return Result<>{}; }
  // Returns the replacement for `text`.
  virtual Result<std::string> redact(std::string_view text) = 0;
  // Called when all texts of one answer are redacted. The answer is sent when the task is done.
  virtual Task<Result<>> settle() = 0;
};
// Makes the filter of a request; nullptr: the request's answer is sent as it is.
using ResponseFilterOf = std::function<std::unique_ptr<ResponseFilter>(const RequestContext&)>;

// Each function redacts all texts in place. A text with JSON is redacted value by value, so that it stays JSON.
Result<> redact(ResponseFilter& texts, ToolResult& result);
Result<> redact(ResponseFilter& texts, std::vector<ResourceContents>& contents);
Result<> redact(ResponseFilter& texts, ResourcePage& page);
Result<> redact(ResponseFilter& texts, std::vector<Prompt>& prompts);
Result<> redact(ResponseFilter& texts, PromptResult& result);
Result<> redact(ResponseFilter& texts, Completion& completion);
Result<> redact(ResponseFilter& texts, RpcError& error);
// Redacts one value. The function has its own name because Json converts to the other types.
Result<> redact_value(ResponseFilter& texts, Json& value);

// A filter that collects every text it is called with, and changes no text.
class TextsOf : public ResponseFilter {
 public:
  Result<std::string> redact(std::string_view text) override {
    all.emplace_back(text);
    return std::string(text);
  }
  Task<Result<>> settle() override { co_return Result<>{}; }
  std::vector<std::string> all;
};
// How many times an answer is in memory at once: as it was made and as a line; with a filter, also the texts for
// prepare() and the redacted texts.
inline size_t copies_of_answer(const std::shared_ptr<ResponseFilter>& response_filter) {
  return response_filter ? 4 : 2;
}

template <class Texts>
Result<> redact_any(ResponseFilter& response_filter, Texts& texts) {
  const NamedWork named_work(LoopWork::personal_data);
  if constexpr (std::is_same_v<Texts, Json>) {
    return redact_value(response_filter, texts);
  } else {
    return redact(response_filter, texts);
  }
}

// Calls prepare() with all texts of an answer that may be large. Call it before redact_answer(); the texts must not
// change in between.
template <class Texts>
Task<> prepare_redaction(std::shared_ptr<ResponseFilter> response_filter, Texts& texts) {
  if (!response_filter) co_return;
  TextsOf wanted;
  (void)redact_any(wanted, texts);
  co_await response_filter->prepare(std::move(wanted.all));
}

// The error that replaces an answer when its texts could not be redacted.
Error withheld(Error why);
// Redacts an answer and settles; does not change it when there is no filter. `texts` must outlive the task.
template <class Texts>
Task<Result<>> redact_answer(std::shared_ptr<ResponseFilter> response_filter, Texts& texts) {
  if (!response_filter) co_return Result<>{};
  Result<> hidden = co_await response_filter->ready();
  if (hidden) hidden = redact_any(*response_filter, texts);
  if (hidden) hidden = co_await response_filter->settle();
  if (hidden) co_return Result<>{};
  co_return tl::unexpected<Error>(withheld(std::move(hidden).error()));
}

}  // namespace mcp
