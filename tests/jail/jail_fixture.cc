#include "tests/jail/jail_fixture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "jail/execution/self_test.h"
#include "jail/jailer_client/jailer_start.h"
#include "jail/template.h"
#include "policies/seccomp.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"
#include "supervisor/privileges.h"

namespace {

namespace fs = std::filesystem;

std::shared_ptr<policies::SeccompFilter> standard_filter() {
  std::ifstream in(WARDER_SOURCE "/policies/seccomp/default.json");
  std::stringstream text;
  text << in.rdbuf();
  auto document = parse_json(text.str());
  if (!document) throw std::runtime_error(document.error().what);
  auto profile = policies::parse_seccomp("default", *document, nullptr);
  if (!profile) throw std::runtime_error(profile.error().front().what);
  auto program = policies::compile_seccomp(*profile);
  if (!program) throw std::runtime_error(program.error().what);
  return std::make_shared<policies::SeccompFilter>(policies::SeccompFilter{"default", *std::move(program), 0});
}

policies::Limits test_limits() {
  policies::Limits limits;
  limits.memory_bytes = 300 << 20;
  limits.tasks = 32;
  limits.output_bytes = 20'000;
  limits.saved_output_bytes = limits.output_total_bytes = 4 << 20;
  limits.result_bytes = 1 << 20;
  limits.file_bytes = 64 << 20;
  limits.open_files = 256;
  limits.tmp_bytes = 8 << 20;
  limits.tmp_files = 512;
  return limits;
}

}  // namespace

JailFixture::JailFixture() : limits_(test_limits()), filter_(standard_filter()) {
  auto ready = prepare();
  if (ready) return;
  problem_ = ready.error().what;
  leaks_ = ready.error().code == Code::denied;
}

Result<> JailFixture::prepare() {
  char name[] = "/var/tmp/warder-jail-test-XXXXXX";
  directory_ = ::mkdtemp(name);
  ::chmod(directory_.c_str(), 0755);
  const std::string tenants = directory_ + "/tenants";
  workspace_ = tenants + "/workspace";
  fs::create_directories(workspace_);

  // Host ids of this program's own, so that jails of other programs are not counted as its left-overs.
  const jail::IdRange ids{0x6000'0000 + static_cast<uint32_t>(::getpid()) * 64, 64};
  TRY(DaemonIdentity identity, choose_identity("warder-test-user-that-does-not-exist", ids));
  if (!identity.root) CHECKED(enter_own_namespaces(identity));
  if (identity.root && ::chown(workspace_.c_str(), identity.uid, identity.gid) < 0) return fail_errno(errno, "chown");
  jail::JailerConfig config;
  TRY(config.template_dir, jail::make_template(directory_ + "/template", WARDER_BUILD "/guest"));
  TRY(config.program, jail::open_jailer(WARDER_BUILD "/jail/jailer/warder-jailer"));
  TRY(config.init, jail::add_init(directory_ + "/template", WARDER_BUILD "/jail/init/warder-jail-init"));
  config.privileged = identity.root;
  config.ids = ids;
  config.daemon_uid = identity.uid;
  config.daemon_gid = identity.gid;
  TRY(Fd parent, open_directory(tenants));
  config.workspace_parents.push_back(std::move(parent));
  TRY(Fd socket, jail::start_jailer(std::move(config)));
  loop_ = std::make_unique<Loop>();
  TRY(client_, jail::JailerClient::start(*loop_, std::move(socket), [] {}));
  host_.reset(new jail::Host{.loop = *loop_, .jailer = *client_, .ids = ids});
  host_->no_cgroups_why = "unit tests run without cgroups";
  host_->identity = identity.root ? jail::Identity::separated : jail::Identity::shared;
  host_->daemon_uid = identity.uid;
  host_->daemon_gid = identity.gid;
  workspace_fd_ = Fd(::open(workspace_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::optional<Result<>> tested;
  auto test = [](JailFixture& self, std::optional<Result<>>& out) -> Task<> {
    auto done = co_await jail::test_host(*self.host_, self.workspace_fd_.get(), self.filter_, self.limits_);
    out.emplace(std::move(done));
  };
  loop_->spawn(test(*this, tested));
  loop_->run_until([&] { return tested.has_value(); });
  return *tested;
}

JailFixture::~JailFixture() {
  host_.reset();
  client_.reset();
  loop_.reset();
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

jail::Request JailFixture::request(jail::Language language, std::string code) {
  jail::Request request;
  request.id = fmt::format("test-{}", next_id_++);
  request.code = std::move(code);
  request.spec.language = language;
  request.spec.limits = limits_;
  auto preferred = policies::Need::preferred;
  request.spec.isolation = policies::Isolation{preferred, preferred, preferred, preferred, preferred};
  request.spec.filter = filter_;
  request.seccomp_profile = filter_->profile;
  request.workspace.directory = workspace_fd_.get();
  return request;
}

Result<jail::Report> JailFixture::run(jail::Request request) {
  std::optional<Result<jail::Report>> answer;
  auto execute = [](JailFixture& self, jail::Request requested, std::optional<Result<jail::Report>>& out) -> Task<> {
    auto report = co_await jail::execute(*self.host_, std::move(requested));
    out.emplace(std::move(report));
  };
  loop_->spawn(execute(*this, std::move(request), answer));
  loop_->run_until([&] { return answer.has_value(); });
  return *std::move(answer);
}

jail::Report JailFixture::run(jail::Language language, std::string code) {
  auto report = run(request(language, std::move(code)));
  if (!report) throw std::runtime_error(report.error().what);
  return *std::move(report);
}
