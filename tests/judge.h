// Judge: holds a benchmark's figures to what is promised of them, when its user asks for that: `--judge FACTOR` before
// the other arguments. Machines differ and are busy: a figure may be worse than its promise by the factor.
#pragma once
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

class Judge {
 public:
  // Takes the option out of the arguments. Ends the program with status 2 when it is no number above 0.
  Judge(int& argc, char**& argv) {
    if (argc < 2 || std::string_view(argv[1]) != "--judge") return;
    char* end = nullptr;
    factor_ = argc > 2 ? std::strtod(argv[2], &end) : 0;
    if (!(factor_ > 0) || *end != '\0') {
      fmt::print(stderr, "usage: {} [--judge FACTOR] [SIZE]; a FACTOR of 2: figures may be twice as bad as promised\n",
                 argv[0]);
      std::exit(2);
    }
    argc -= 2;
    argv += 2;
  }
  void at_most(std::string_view subject, double measured, double promised) {
    if (factor_ > 0 && measured > promised * factor_) blame(subject, measured, "at most", promised * factor_);
  }
  void at_least(std::string_view subject, double measured, double promised) {
    if (factor_ > 0 && measured < promised / factor_) blame(subject, measured, "at least", promised / factor_);
  }
  bool satisfied() const { return satisfied_; }

 private:
  void blame(std::string_view subject, double measured, std::string_view bound, double value) {
    satisfied_ = false;
    fmt::print(stderr, "{}: {:.1f}, and should be {} {:.1f}\n", subject, measured, bound, value);
  }
  double factor_ = 0;  // 0: nobody asked
  bool satisfied_ = true;
};
