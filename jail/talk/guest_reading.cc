#include "jail/talk/guest_message.h"
#include "supervisor/base/large_value.h"

namespace jail {

Task<Result<GuestMessage>> read_guest_text(Work& work, Work::Owner owner, LoopShare& share, std::string text) {
  if (share.is_used_up()) co_await share.turn();
  if (is_read_quickly(text)) {
    const LoopShare::Use use(share);
    const NamedWork named_work(LoopWork::program_message, &owner.name);
    co_return read_guest_text(text);
  }
  const size_t bytes = text.size();
  auto full = std::make_shared<std::string>(std::move(text));
  std::function<Result<GuestMessage>()> job = [full] {
    auto guest_text = read_guest_text(*full);
    full->clear();
    full->shrink_to_fit();
    return guest_text;
  };
  auto message = co_await work.run(std::move(owner), bytes, std::move(job));
  co_return message;
}

}  // namespace jail
