// Cases: what is measured, each with the case it is compared with. Source: a running Daemon and the machine's programs.
// Errors: of a sample: internal, with the program or the daemon's words. A program that is not installed is no error:
// its case says so and has no samples.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/client.h"
#include "tests/bench/daemon.h"
#include "tests/bench/statistics.h"

namespace bench {

struct Case {
  std::string name;
  std::string baseline;  // the name of another case; empty: is one itself
  int per_round = 1;
  std::function<Result<Sample>()> run;
  std::string absent;  // why it cannot be measured here; else empty
  Series series;
  bool cpu_is_whole = true;
};

// One line of the cold start's breakdown, taken from outside and from the receipts of the same executions.
struct Part {
  std::string name;
  int depth = 0;
  Series series;
};

class Cases {
 public:
  explicit Cases(Daemon& daemon) : daemon_(daemon) {}
  Cases(const Cases&) = delete;
  Cases& operator=(const Cases&) = delete;

  Result<> prepare();  // connects, builds the list, runs each once unmeasured
  std::vector<Case>& list() { return list_; }
  const std::vector<Part>& breakdown() const { return breakdown_; }
  void begin_round();

 private:
  using Run = std::function<Result<Sample>()>;
  void add(std::string name, std::string baseline, int per_round, Run run);
  void add_program(std::string name, std::string baseline, int per_round, std::vector<std::string> words);
  void add_execution(std::string name, std::string baseline, int per_round, const std::string& language,
                     const std::string& code);
  void add_request(std::string name, int per_round, std::string line);
  Result<Json> execute(const std::string& request, Client::Exchange& exchange, Sample& sample);
  Result<Sample> break_down(const std::string& request);
  Part& part(const std::string& name, int depth);

  Daemon& daemon_;
  std::optional<Client> client_;     // of the modern era
  std::optional<Client> handshake_;  // of the era that has `ping`
  std::vector<Case> list_;
  std::vector<Part> breakdown_;
};

}  // namespace bench
