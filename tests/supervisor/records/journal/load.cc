// A daemon's journal without the daemon, for tests that kill it: `journal_load FOLDER durable|buffered` runs executions
// for ever and prints a line for each that it would have answered; `journal_load FOLDER start` starts and ends in
// order; `journal_load FOLDER verify` checks the audit chain.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "supervisor/records/journal/journal.h"

namespace {

constexpr int kAtOnce = 8;

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) ::_exit(3);
}

Task<> keep_running(Loop& loop, journal::Journal& book, int number) {
  for (int i = 0;; i++) {
    const std::string id = "e" + std::to_string(::getpid()) + "-" + std::to_string(number) + "-" + std::to_string(i);
    auto execution = book.begin({id, "acme", "python", "default", 4, journal::now_ms()});
    book.audit({journal::now_ms(), "acme", 1000, 1, "tools/call", id, "{}"});
    co_await next_turn(loop);
    if (i % 10 == 9) continue;  // cancelled
    journal::Ended ended;
    ended.outcome = i % 3 == 0 ? "error" : "ok";
    const std::string outcome = ended.outcome;
    auto written = co_await book.end(std::move(execution), std::move(ended));
    if (!written) {
      std::fprintf(stderr, "%s\n", written.error().what.c_str());
      ::_exit(4);
    }
    say(id + " " + outcome);
  }
}

// Of every life one execution is begun and has no end.
Task<> keep_all_running(Loop& loop, journal::Journal& book, journal::Journal::Execution& endless) {
  auto written = co_await book.started(endless);
  if (!written) ::_exit(4);
  for (int number = 0; number < kAtOnce; number++) loop.spawn(keep_running(loop, book, number));
}

int verify(const std::string& path) {
  auto database = journal::Database::open(path, journal::Database::Access::read_only);
  if (!database) return 2;
  auto verdict = journal::verify_audit(*database);
  if (!verdict) return 2;
  say(verdict->problem.empty() ? "whole " + std::to_string(verdict->entries) : verdict->problem);
  return verdict->problem.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const std::string folder = argv[1];
  if (std::strcmp(argv[2], "verify") == 0) return verify(folder + "/journal.db");
  journal::Settings settings;
  settings.executions_kept = 10'000'000;  // no row is removed for the number of rows
  if (std::strcmp(argv[2], "durable") == 0) settings.durability = journal::Durability::durable;
  Loop loop;
  auto book = journal::Journal::open(loop, folder, settings);
  if (!book || !(*book)->set_aside().empty()) {
    std::fprintf(stderr, "%s\n", book ? (*book)->set_aside().c_str() : book.error().what.c_str());
    return 1;
  }
  say("interrupted " + std::to_string((*book)->interrupted()));
  if (std::strcmp(argv[2], "start") == 0) return 0;
  const std::string endless = "e" + std::to_string(::getpid()) + "-endless";
  auto execution = (*book)->begin({endless, "acme", "python", "default", 4, journal::now_ms()});
  loop.spawn(keep_all_running(loop, **book, execution));
  loop.run();
}
