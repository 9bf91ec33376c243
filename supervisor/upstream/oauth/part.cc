// Logins at upstream servers as an annex of the daemon.
#include "supervisor/given_services.h"
#include "supervisor/parts.h"
#include "supervisor/tenants/master_key.h"
#include "supervisor/upstream/oauth/logins.h"

namespace oauth {
namespace {

class OAuthPart final : public Part {
 public:
  explicit OAuthPart(std::shared_ptr<LoginBook> book) : logins_(std::move(book)) {}

  static Result<std::unique_ptr<OAuthPart>> open(Loop& loop, StateFolder& state, StateThreads& threads,
                                                 tenants::MasterKey& key) {
    return std::make_unique<OAuthPart>(
        std::make_shared<LoginBook>(loop, *threads.disk, state.servers, key.of_logins()));
  }
  std::tuple<LoginService&> services() { return {logins_}; }

 private:
  Logins logins_;
};

}  // namespace

PartEntry part() { return part_entry_of("logins", OAuthPart::open); }

}  // namespace oauth
