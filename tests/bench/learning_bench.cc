// learning-bench: what learning from use gains and costs. Prints the recall of the five listed tools for searches that
// nobody made before: without learning, and after 10 and 100 uses of each tool, ours beside the naive way.
// Deterministic: the same figures at every run.
#include <fmt/format.h>

#include <cstdlib>

#include "tests/catalog/usage.h"

using usage::Memory;

int main(int argc, char** argv) {
  const usage::Office office;
  auto print = [](const char* kind, const usage::Recall& recall) {
    fmt::print("{:22}{:12.1f}{:16.1f}{:24.1f}{:14.1f}\n", kind, recall.single, recall.several, recall.plain,
               recall.unused);
  };
  fmt::print("recall@5, percent         one tool    two or three    by their definitions    never used\n");
  print("without learning", office.recall(Memory::none, 0));
  const size_t max = argc > 1 ? static_cast<size_t>(std::atoi(argv[1])) : 100;
  for (size_t uses : {size_t{10}, size_t{100}}) {
    if (uses > max) break;
    print(fmt::format("{} uses, naive", uses).c_str(), office.recall(Memory::naive, uses));
    print(fmt::format("{} uses, ours", uses).c_str(), office.recall(Memory::ours, uses));
  }
  return 0;
}
