// The exchange of `warderd --reload` and the daemon: the answer of the right reload, and nothing for a daemon that is
// not.
#include "supervisor/daemon/configuration/reload_exchange.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "supervisor/base/fd.h"
#include "tests/supervisor/daemon/configuration/scene.h"

using namespace configuration;
using namespace std::chrono_literals;

namespace {

// The daemon's side, in the test's own process: MAINPID is this process.
struct ExchangeScene : ConfigurationScene {
  ExchangeScene() {
    std::filesystem::create_directories(folder / "state/reload");
    ::setenv("MAINPID", std::to_string(::getpid()).c_str(), 1);
    std::signal(SIGHUP, SIG_IGN);
  }
  ~ExchangeScene() {
    ::unsetenv("MAINPID");
    std::signal(SIGHUP, SIG_DFL);
  }
  Fd lock() const {
    Fd state(::open(path("state").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::flock(state.get(), LOCK_EX) == 0);
    return state;
  }
  std::string await_request(const std::string& other_than = "") const {
    for (;;) {
      const std::string word = read_reload_request(path("state"));
      if (!word.empty() && word != other_than) return word;
      std::this_thread::sleep_for(5ms);
    }
  }
};

}  // namespace

TEST_CASE("the asker gets the answer to its own request", "[configuration]") {
  ExchangeScene scene;
  const Fd daemon = scene.lock();
  CHECK(read_reload_request(scene.path("state")).empty());
  REQUIRE(write_reload_answer(scene.path("state"), "an older word", {true, {}, {}}));
  Result<ReloadAnswer> answer;
  std::thread asker([&] { answer = ask_for_reload(scene.path("state"), "", 60s); });
  const std::string word = scene.await_request();
  CHECK(word.size() == 32);
  const FilesInForce files{"/etc/warder/warderd.json", "/var/lib/warder", {"/usr/lib/warder/policies", "/etc/x"}};
  REQUIRE(write_reload_answer(scene.path("state"), word, {false, {"a: bad", "b: \x1b[2Jworse\n"}, files}));
  asker.join();
  REQUIRE(answer);
  CHECK(answer->files == files);
  CHECK_FALSE(answer->good);
  CHECK(answer->lines == std::vector<std::string>{"a: bad", "b: \\x1b[2Jworse\\x0a"});  // no terminal escapes
}

TEST_CASE("a request to no daemon, or to one that is silent, fails", "[configuration]") {
  ExchangeScene scene;
  const auto none = ask_for_reload(scene.path("state"), "", 60s);
  REQUIRE_FALSE(none);
  CHECK(none.error().what == "no warderd runs with the state folder " + scene.path("state"));
  const Fd daemon = scene.lock();
  const auto silent = ask_for_reload(scene.path("state"), "", 0s);
  REQUIRE_FALSE(silent);
  CHECK(silent.error().what == "the daemon has not answered in 0 s; it has the request, and reloads when it goes on");
  CHECK(read_reload_request(scene.path("state")).size() == 32);
  ::setenv("MAINPID", "1", 1);
  const auto init = ask_for_reload(scene.path("state"), "", 60s);
  REQUIRE_FALSE(init);
  CHECK(init.error().hint == "use systemctl reload warder");
}

TEST_CASE("an asker learns at once that the daemon ended, and still reads its last answer", "[configuration]") {
  ExchangeScene scene;
  const Fd lock = scene.lock();  // of the next daemon, which does not know the request
  const bool answers = GENERATE(false, true);
  const pid_t daemon = ::fork();
  REQUIRE(daemon >= 0);
  if (daemon == 0) {
    const std::string word = scene.await_request();
    if (answers && !write_reload_answer(scene.path("state"), word, {true, {}, {}})) ::_exit(1);
    ::_exit(0);
  }
  ::setenv("MAINPID", std::to_string(daemon).c_str(), 1);
  const auto answer = ask_for_reload(scene.path("state"), "", 3600s);
  int status = 0;
  REQUIRE(::waitpid(daemon, &status, 0) == daemon);
  REQUIRE(status == 0);
  CHECK(answer.has_value() == answers);
  if (!answers) CHECK(answer.error().what == "the daemon ended before it had reloaded");
}

TEST_CASE("an answer of another form is no answer", "[configuration]") {
  ExchangeScene scene;
  const Fd daemon = scene.lock();
  const std::string rest =
      GENERATE(as<std::string>(), "}", R"(, "good": 1, "lines": []})", R"(, "good": true, "lines": 3})");
  Result<ReloadAnswer> answer;
  std::thread asker([&] { answer = ask_for_reload(scene.path("state"), "", 60s); });
  scene.write("state/reload/answer", R"({"word": ")" + scene.await_request() + "\"" + rest);
  asker.join();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().what == "the daemon's answer is not valid");
}
