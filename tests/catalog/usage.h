// Usage: a made-up office of 36 tools, what its people say when they need one, two or three of them, and what they used
// in the end. For measuring what learning from use gains and costs: tests/bench/learning_bench.cc prints it,
// usage_test.cc holds it. Our own data; the same at every run and on every machine.
#pragma once
#include <random>
#include <set>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "tests/temp_directory.h"

namespace usage {

// How what was used is remembered.
enum class Memory {
  none,
  naive,  // the searches become a field of each tool they led to, as a model's "use cases"
  ours    // catalog::Learning
};

// A search, and the tools that who asks needs.
struct Task {
  std::string query;
  std::set<std::string> tools;  // names, no two servers share one
};

// In percent: of the tools that a search needs, how many are among the five listed; the mean of all searches.
struct Recall {
  double single = 0;   // one tool needed, that others have used before
  double several = 0;  // two or three needed
  double plain = 0;    // two or three needed, asked for in the words of their definitions: little to gain, much to lose
  double unused = 0;   // one needed, that nobody has ever used
};

class Office {
 public:
  Office();
  // Measured with searches that nobody made before, after every tool in use was used so many times on average: by
  // searches for one tool and for several, popular tools far more often than others.
  Recall recall(Memory memory, size_t uses) const;
  size_t tools() const;

 private:
  struct Used {
    Task task;
    std::vector<std::string> chosen;  // afterwards, in this order
  };
  std::vector<Used> work(size_t uses) const;
  std::vector<Task> single_, several_, plain_, unused_;
};

}  // namespace usage
