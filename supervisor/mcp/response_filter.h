// ResponseFilter: looks at every text of one request's answer before it leaves: results, errors, resources, prompts.
// Source: who serves gives the server a function that makes one for each request (Server::set_response_filter). Fails
// closed: an answer whose texts cannot be looked at is withheld. Not looked into: images and other binary data,
// `_meta`, and what the client itself has just sent (ids, the URI it reads).
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
  // redact() is about to be asked for these. Who needs long for them does the work here, and lets others have their
  // turns meanwhile. Nothing fails here: redact() says what is wrong.
  virtual Task<> prepare(std::vector<std::string> texts) {
    (void)texts;
    co_return;
  }
  // What redact() needs is there. Always before it. Errors: as redact().
  virtual Task<Result<>> ready() { co_return Result<>{}; }
  // What leaves in the text's place.
  virtual Result<std::string> redact(std::string_view text) = 0;
  // All texts of one answer have been cleaned; it leaves when this is done.
  virtual Task<Result<>> settle() = 0;
};
// nullptr: this request's answers leave as they are.
using ResponseFilterOf = std::function<std::unique_ptr<ResponseFilter>(const RequestContext&)>;

// Each cleans all texts in place. Texts that are JSON are cleaned value by value, so that they stay JSON.
Result<> redact(ResponseFilter& texts, ToolResult& result);
Result<> redact(ResponseFilter& texts, std::vector<ResourceContents>& contents);
Result<> redact(ResponseFilter& texts, ResourcePage& page);
Result<> redact(ResponseFilter& texts, std::vector<Prompt>& prompts);
Result<> redact(ResponseFilter& texts, PromptResult& result);
Result<> redact(ResponseFilter& texts, Completion& completion);
Result<> redact(ResponseFilter& texts, RpcError& error);
// One value alone. Named apart: JSON converts to everything.
Result<> redact_value(ResponseFilter& texts, Json& value);

// Every text that redact() would ask for, which it then leaves as it is.
class TextsOf : public ResponseFilter {
 public:
  Result<std::string> redact(std::string_view text) override {
    all.emplace_back(text);
    return std::string(text);
  }
  Task<Result<>> settle() override { co_return Result<>{}; }
  std::vector<std::string> all;
};
// How many times an answer is in memory while it is looked at: as it was made, the texts that are wanted, what they
// become, and the line.
inline size_t copies_of_answer(const std::shared_ptr<ResponseFilter>& response_filter) {
  return response_filter ? 4 : 2;
}

template <class Texts>
Result<> redact_any(ResponseFilter& response_filter, Texts& texts) {
  const Doing doing(LoopWork::personal_data);
  if constexpr (std::is_same_v<Texts, Json>) {
    return redact_value(response_filter, texts);
  } else {
    return redact(response_filter, texts);
  }
}

// Before redact_answer(), for what may be large: the texts must stay as they are in between.
template <class Texts>
Task<> prepare_redaction(std::shared_ptr<ResponseFilter> response_filter, Texts& texts) {
  if (!response_filter) co_return;
  TextsOf wanted;
  (void)redact_any(wanted, texts);
  co_await response_filter->prepare(std::move(wanted.all));
}

// The error in an answer's place.
Error withheld(Error why);
// Cleans and settles, where there is something to clean with. `texts` must outlive the task.
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
