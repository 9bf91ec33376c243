// Changes: who is told that a list has changed. A legacy client hears of all of them once it has initialised; a modern
// one of those it names in `subscriptions/listen`, a request that stays open until the client cancels it or we end.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "supervisor/base/loop.h"
#include "supervisor/mcp/answers.h"
#include "supervisor/mcp/context.h"

namespace mcp {

enum class List { tools, resources, prompts };

class Changes {
 public:
  using Concerns = std::function<bool(const std::shared_ptr<void>& user)>;
  struct Hearer {
    std::shared_ptr<void> user;      // of its connection
    std::function<void(List)> tell;  // sends; resumes and destroys nobody
  };
  // Heard until it is destroyed.
  using Hearing = std::shared_ptr<const Hearer>;
  [[nodiscard]] Hearing hear(Hearer hearer);

  // That it will be told when this list changes.
  void announce(List list) { announced_.insert(list); }
  bool announced(List list) const { return announced_.contains(list); }
  void tell(List list, const Concerns& concerns);

  // The answer to subscriptions/listen: done when end() was called.
  Task<Answer> listen(RequestContext& context, nlohmann::json params, const std::string& identity);
  void end(Loop& loop);

 private:
  std::set<List> announced_;
  std::list<std::weak_ptr<const Hearer>> hearers_;
  std::list<std::weak_ptr<Event>> ends_;
  bool ended_ = false;
};

// notifications/prompts/list_changed, ... as a line; `meta` is a JSON object's text or empty.
std::string changed_line(List list, std::string_view meta = {});

}  // namespace mcp
