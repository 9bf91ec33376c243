// What the coroutine lint must find ("finds:" names it) and what it must leave alone. Parsed, never built.
#include <coroutine>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

template <class T>
struct Task {
  struct promise_type {
    T value;
    Task get_return_object();
    std::suspend_always initial_suspend() noexcept;
    std::suspend_always final_suspend() noexcept;
    void unhandled_exception();
    void return_value(T);
  };
  bool await_ready();
  void await_suspend(std::coroutine_handle<>);
  T await_resume();
};

struct Spec {
  std::string program;
  std::vector<std::string> arguments;
};

Task<int> ping();
Task<std::string> load();
Task<int> spawn(Spec spec);
Task<int> spawn_all(std::vector<std::string> names);
template <class F>
Task<int> find(F f) {
  co_return f(1) ? 1 : 0;
}

#define CHECK_THAT_IT_HOLDS(...) \
  do {                           \
  } while (!(__VA_ARGS__))

Task<int> conditions() {
  if (co_await ping() != 0) co_return 1;  // finds: await in a condition
  while (co_await ping()) break;          // finds: await in a condition
  do {
  } while (co_await ping() == 3);  // finds: await in a condition
  switch (co_await ping()) {       // finds: await in a condition
    default:
      break;
  }
  CHECK_THAT_IT_HOLDS(co_await ping() == 1);  // finds: await in a condition
  co_return 0;
}

Task<std::string> ternary(bool cached) {
  std::string text = cached ? std::string("x") : co_await load();  // finds: await inside ?:
  auto run = [cached](auto wait) {
    // A finding and its await stand in one line.
    // clang-format off
    auto late = cached ? [](auto i) -> Task<int> { if (i) { co_return co_await ping(); } }(wait) : ping();  // finds: await inside ?:
    return cached ? late : [](auto i) -> Task<int> { if (i) { co_return 1; } }(wait);  // finds: await inside ?:
    // clang-format on
  };
  run(1);
  text += R"(?")";
  co_return text;
}

Task<int> braces(int id) {
  auto a =
      co_await spawn(Spec{"sh", std::vector<std::string>()});  // finds: aggregate built inside an awaited expression
  auto b = co_await spawn_all({"a", "b"});                     // finds: initializer list inside an awaited expression
  std::pair<int, int> c{co_await ping(), 1};
  std::vector<int> d{co_await ping()};                      // finds: await inside braces
  auto e = co_await find([id](int x) { return x == id; });  // finds: capturing lambda inside an awaited expression
  auto f = ({ co_await ping(); });                          // finds: await inside a statement expression
  std::vector<Task<int>> g{[]() -> Task<int> { co_return co_await ping(); }()};  // finds: await inside braces
  std::initializer_list<int> h = {1, co_await ping()};                           // finds: await inside braces
  co_return a + b + c.first + d[0] + e + f + g.size() + h.size();
}

Task<int> good(int id) {
  int status = co_await ping();  // plain
  if (status != 0) co_return 1;
  Spec spec{"sh", {"a"}};
  auto a = co_await spawn(std::move(spec));  // plain
  auto pick = [id](int x) { return x == id; };
  auto b = co_await find(std::move(pick));
  auto c = co_await find([](int x) { return x == 1; });
  std::vector<std::string> names{"a", "b"};
  auto d = co_await spawn_all(std::move(names));  // plain
  auto waiting = [](int count) -> Task<int> {
    for (int i = 0; i < count; ++i) {
      auto more = co_await ping();  // plain
      if (more > 0) co_return more;
    }
    co_return co_await ping();  // plain
  };
  co_await waiting(id);  // plain
  if (int more = status; more != 0) co_return 2;
  co_return a + b + c + d;
}
