#include "jail/guest_message.h"

namespace jail {

Task<Result<GuestMessage>> read_guest_text(JsonWork& work, JsonWork::Owner owner, std::string text) {
  const size_t bytes = text.size();
  if (bytes <= JsonWork::kSmall) co_return read_guest_text(text);
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
