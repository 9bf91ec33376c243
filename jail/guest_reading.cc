#include "jail/guest_message.h"
#include "supervisor/base/value_bytes.h"

namespace jail {

bool is_read_quickly(std::string_view text) {
  constexpr size_t kFew = 1 << 10;  // bytes, of which the values need not be counted
  return text.size() <= kFew || (text.size() <= JsonWork::kSmall && !has_many_values(text, value_bytes(text)));
}

Task<Result<GuestMessage>> read_guest_text(JsonWork& work, JsonWork::Owner owner, LoopShare& share, std::string text) {
  if (share.is_used_up()) co_await share.turn();
  if (is_read_quickly(text)) {
    const LoopShare::Use use(share);
    const Doing doing(LoopWork::program_message, &owner.name);
    co_return read_guest_text(text);
  }
  const size_t bytes = text.size();
  auto whole = std::make_shared<std::string>(std::move(text));
  std::function<Result<GuestMessage>()> job = [whole] {
    auto said = read_guest_text(*whole);
    whole->clear();
    whole->shrink_to_fit();
    return said;
  };
  auto said = co_await work.run(std::move(owner), bytes, std::move(job));
  co_return said;
}

}  // namespace jail
