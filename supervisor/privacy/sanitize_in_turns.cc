#include "supervisor/privacy/sanitize_in_turns.h"

#include "supervisor/base/busy_time.h"

namespace privacy {
namespace {

// Steps of a Sanitizer in one turn of the loop. A short text without custom patterns needs 3 steps.
constexpr int kStepsOfATurn = 4;

}  // namespace

Task<Result<policies::Sanitized>> sanitize_in_turns(Loop& loop, std::string_view text,
                                                    const policies::PiiDetector& detector, policies::PiiVault& vault,
                                                    const policies::SanitizeOptions& options) {
  policies::Sanitizer sanitizer(text, detector, vault, options);
  for (;;) {
    // Most texts are short and end in the first turn.
    for (int steps = 0; steps < kStepsOfATurn; steps++) {
      const NamedWork named_work(LoopWork::personal_data);
      CO_TRY(const policies::PiiScan::Step step, sanitizer.step());
      if (step == policies::PiiScan::Step::done) co_return sanitizer.take();
    }
    co_await next_turn(loop);
  }
}

}  // namespace privacy
