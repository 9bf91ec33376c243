#include "supervisor/tools/workflows/workflow_store.h"

#include "supervisor/base/json/json_value.h"
#include "supervisor/records/journal/workflow_rows.h"
#include "tests/catch.h"
#include "tests/jail/await.h"
#include "tests/temp_directory.h"

using namespace workflows;

namespace {

constexpr WorkflowLimits kLimits{4, 100, 10'000, std::chrono::seconds(60)};

// The workflows of a daemon, in a journal of their own.
struct Kept {
  TempDirectory folder;
  Loop loop;
  std::unique_ptr<journal::Journal> book;
  std::unique_ptr<journal::WorkflowRows> rows;
  std::unique_ptr<WorkflowStore> store;
  int64_t now = 1'000'000;

  Kept() { open(); }
  void open() {
    store.reset();
    rows.reset();
    book.reset();
    auto opened = journal::Journal::open(loop, folder.path(), {});
    REQUIRE(opened);
    book = *std::move(opened);
    rows = std::make_unique<journal::WorkflowRows>(*book);
    store = std::make_unique<WorkflowStore>(
        *rows, [this] { return now; }, [this] { return now; });
  }
  Result<std::unique_ptr<HeldWorkflow>> hold(const std::string& name, const std::string& execution = "e1",
                                             WorkflowLimits limits = kLimits, const std::string& tenant = "acme") {
    return await(loop, store->hold({tenant, name}, execution, limits));
  }
  std::string started;  // the name of the step that began last
  StepStart begin(HeldWorkflow& workflow, uint32_t position, const std::string& name) {
    started = name;
    auto start = await(loop, workflow.begin_step(position, name));
    REQUIRE(start);
    return *start;
  }
  Result<> end(HeldWorkflow& workflow, uint32_t position, const std::string& value,
               StepState state = StepState::finished) {
    return await(loop, workflow.end_step({position, started, state, value, 1}));
  }
  void finish(HeldWorkflow& workflow, uint32_t position, const std::string& name, const std::string& value) {
    REQUIRE(begin(workflow, position, name).event == StepStart::RunEvent::run);
    REQUIRE(end(workflow, position, value));
  }
};

StepInputs inputs_of(const Json& inputs, const std::string& digest = "ab12") {
  auto created = StepInputs::of(inputs, digest);
  REQUIRE(created);
  return *created;
}

bool says(const Error& error, std::string_view words) { return error.what.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("A finished step returns its value to the next holder, with the same key while it runs") {
  Kept saved;
  std::string key;
  {
    auto owned = saved.hold("w");
    REQUIRE(owned);
    CHECK(saved.begin(**owned, 0, "a").event == StepStart::RunEvent::run);
    key = (*owned)->run() + "-0";
    CHECK((*owned)->next_call_key() == key + "-1");
    CHECK((*owned)->next_call_key() == key + "-2");
    (*owned)->retry_step();
    CHECK((*owned)->next_call_key() == key + "-1");
  }
  saved.open();  // as after kill -9: the step did not end
  {
    auto owned = saved.hold("w", "e2");
    REQUIRE(owned);
    const StepStart start = saved.begin(**owned, 0, "a");
    CHECK(start.event == StepStart::RunEvent::run);
    CHECK((*owned)->run() + "-0" == key);
    REQUIRE(saved.end(**owned, 0, R"([1,"x"])"));
    CHECK((*owned)->next_call_key().empty());
  }
  saved.open();
  auto owned = saved.hold("w", "e3");
  REQUIRE(owned);
  const StepStart after = saved.begin(**owned, 0, "a");
  CHECK(after.event == StepStart::RunEvent::finished);
  CHECK(after.value == R"([1,"x"])");
}

TEST_CASE("A failure that is the last record runs again; one that the program went on after is returned") {
  Kept saved;
  {
    auto owned = saved.hold("w");
    REQUIRE(owned);
    saved.begin(**owned, 0, "a");
    REQUIRE(saved.end(**owned, 0, "ValueError: no", StepState::failed));
  }
  {
    auto owned = saved.hold("w");
    REQUIRE(owned);
    CHECK(saved.begin(**owned, 0, "a").event == StepStart::RunEvent::run);
    REQUIRE(saved.end(**owned, 0, "ValueError: again", StepState::failed));
    saved.finish(**owned, 1, "b", "2");
  }
  auto owned = saved.hold("w");
  REQUIRE(owned);
  const StepStart failed = saved.begin(**owned, 0, "a");
  CHECK(failed.event == StepStart::RunEvent::failed);
  CHECK(failed.value == "ValueError: again");
}

TEST_CASE("Steps come in their order, under their names, one after another") {
  Kept saved;
  auto owned = saved.hold("w");
  REQUIRE(owned);
  auto early = await(saved.loop, (*owned)->begin_step(1, "b"));
  REQUIRE(!early);
  CHECK(early.error().code == Code::invalid);
  saved.begin(**owned, 0, "a");
  auto inside = await(saved.loop, (*owned)->begin_step(1, "b"));
  REQUIRE(!inside);
  CHECK(says(inside.error(), "step 'a' has not ended"));
  CHECK(!saved.end(**owned, 1, "1"));
  REQUIRE(saved.end(**owned, 0, "1"));
  CHECK(!saved.end(**owned, 0, "1"));
  auto changed = await(saved.loop, (*owned)->begin_step(0, "b"));
  REQUIRE(!changed);
  CHECK(says(changed.error(), "is 'b' now, and was 'a' when it was recorded"));
}

TEST_CASE("A new step may end without having begun, and no other step may") {
  Kept saved;
  auto owned = saved.hold("w");
  REQUIRE(owned);
  auto end = [&](uint32_t position, const std::string& name, StepState state = StepState::finished) {
    return await(saved.loop, (*owned)->end_step({position, name, state, "1", 1}));
  };
  REQUIRE(end(0, "a"));
  CHECK(!end(0, "a"));
  CHECK(!end(2, "c"));
  CHECK(!end(1, "line\nend"));
  saved.begin(**owned, 1, "b");
  saved.begin(**owned, 1, "b");
  CHECK(!end(1, "another"));
  CHECK(!end(2, "c"));
  REQUIRE(end(1, "b", StepState::failed));
  CHECK(!end(1, "b"));  // a recorded one has to begin again
  saved.begin(**owned, 1, "b");
  REQUIRE(end(1, "b"));
  CHECK((*owned)->recorded_steps() == 2);
}

TEST_CASE("A workflow has one holder, and is removed only without one") {
  Kept saved;
  auto owned = saved.hold("w", "e1");
  REQUIRE(owned);
  auto other = saved.hold("w", "e2");
  REQUIRE(!other);
  CHECK(other.error().code == Code::unavailable);
  CHECK(says(other.error(), "in use by execution e1"));
  CHECK(saved.hold("w", "e2", kLimits, "acme/two"));
  CHECK(!await(saved.loop, saved.store->remove({"acme", "w"})));
  owned->reset();
  CHECK(saved.store->reserved() == 0);
  CHECK(await(saved.loop, saved.store->remove({"acme", "w"})));
  auto removed = await(saved.loop, saved.store->remove({"acme", "w"}));
  REQUIRE(!removed);
  CHECK(removed.error().code == Code::not_found);
}

TEST_CASE("Steps, bytes and workflows are bounded, and an earlier value makes room for its successor") {
  Kept saved;
  const WorkflowLimits limits{2, 2, 100, std::chrono::seconds(60)};
  auto owned = saved.hold("w", "e1", limits);
  REQUIRE(owned);
  saved.finish(**owned, 0, "a", std::string(60, '1'));
  saved.begin(**owned, 1, "b");
  auto over = saved.end(**owned, 1, std::string(60, '1'));
  REQUIRE(!over);
  CHECK(over.error().rule == "workflows.bytes");
  CHECK((*owned)->tenant_bytes() == 60);
  saved.begin(**owned, 1, "b");
  REQUIRE(saved.end(**owned, 1, std::string(30, 'x'), StepState::failed));
  saved.begin(**owned, 1, "b");
  REQUIRE(saved.end(**owned, 1, std::string(40, '1')));
  CHECK((*owned)->tenant_bytes() == 100);
  auto third = await(saved.loop, (*owned)->begin_step(2, "c"));
  REQUIRE(!third);
  CHECK(third.error().rule == "workflows.steps");
  REQUIRE(saved.hold("w2", "e1", limits));
  auto more = saved.hold("w3", "e1", limits);
  REQUIRE(!more);
  CHECK(more.error().rule == "workflows.max");
  CHECK(saved.store->holder({"acme", "w3"}).empty());
  const auto list = await(saved.loop, saved.rows->list("acme"));
  REQUIRE(list);
  CHECK(list->size() == 2);
  CHECK((*list)[0].workflow.bytes == 100);
}

TEST_CASE("A long value comes in parts") {
  Kept saved;
  auto owned = saved.hold("w", "e1", {4, 100, 10 << 20, std::chrono::seconds(60)});
  REQUIRE(owned);
  CHECK(!(*owned)->add_to_value("1"));
  saved.begin(**owned, 0, "a");
  REQUIRE((*owned)->add_to_value("[1,"));
  REQUIRE(saved.end(**owned, 0, "2]"));
  CHECK(saved.begin(**owned, 0, "a").value == "[1,2]");
  saved.begin(**owned, 1, "b");
  REQUIRE((*owned)->add_to_value(std::string(kMaxValueBytes, '1')));
  CHECK(!(*owned)->add_to_value("1"));
  auto over = saved.end(**owned, 1, "1");
  REQUIRE(!over);
  CHECK(says(over.error(), "1048577 bytes"));
}

TEST_CASE("A workflow expires after its last use, whatever the clock did, and a tenant's are forgotten with it") {
  Kept saved;
  {
    auto owned = saved.hold("w");
    REQUIRE(owned);
    saved.finish(**owned, 0, "a", "1");
    saved.now -= 500'000;  // the clock is set back
    saved.finish(**owned, 1, "b", "2");
  }
  await(saved.loop, saved.store->tidy());
  CHECK(saved.hold("w"));
  saved.now += 61'000;
  auto used = saved.hold("used");
  REQUIRE(used);
  saved.now += 61'000;
  await(saved.loop, saved.store->tidy());
  auto list = await(saved.loop, saved.rows->list("acme"));
  REQUIRE(list);
  REQUIRE(list->size() == 1);
  CHECK((*list)[0].name == "used");
  CHECK(saved.hold("w", "e1", kLimits, "acme/two"));
  CHECK(saved.hold("w", "e1", kLimits, "acme2"));
  saved.rows->forget("acme");
  for (const char* tenant : {"acme", "acme/two"}) {
    list = await(saved.loop, saved.rows->list(tenant));
    REQUIRE(list);
    CHECK(list->empty());
  }
  list = await(saved.loop, saved.rows->list("acme2"));
  REQUIRE(list);
  CHECK(list->size() == 1);
  saved.begin(**used, 0, "a");
  auto lost = saved.end(**used, 0, "1");
  REQUIRE(!lost);
  CHECK(lost.error().code == Code::not_found);
}

TEST_CASE("A thousand steps are read ahead in parts") {
  Kept saved;
  const WorkflowLimits limits{4, 10'000, 10 << 20, std::chrono::seconds(60)};
  auto owned = saved.hold("w", "e1", limits);
  REQUIRE(owned);
  for (uint32_t i = 0; i < 1'000; i++) saved.finish(**owned, i, "s", std::to_string(i) + std::string(1000, ' '));
  owned->reset();
  owned = saved.hold("w", "e2", limits);
  REQUIRE(owned);
  for (uint32_t i = 0; i < 1'000; i++) {
    const StepStart start = saved.begin(**owned, i, "s");
    REQUIRE(start.event == StepStart::RunEvent::finished);
    REQUIRE(std::stoul(start.value) == i);
  }
}

TEST_CASE("A recorded step is refused if its function reads another value now, and not if it reads another name") {
  Kept saved;
  auto owned = saved.hold("w");
  REQUIRE(owned);
  const Json ada = {{"customer", "'ada'"}, {"rate", "2"}}, cyd = {{"customer", "'cyd'"}, {"rate", "2"}};
  auto start = await(saved.loop, (*owned)->begin_step(0, "mail", inputs_of(ada)));
  REQUIRE(start);
  CHECK((*owned)->next_call_key() == (*owned)->run() + "-0-ab12-1");
  saved.started = "mail";
  REQUIRE(saved.end(**owned, 0, "1"));
  owned->reset();
  owned = saved.hold("w", "e2");
  REQUIRE(owned);
  auto other = await(saved.loop, (*owned)->begin_step(0, "mail", inputs_of(cyd)));
  REQUIRE_FALSE(other);
  CHECK(says(other.error(), "recorded with customer = 'ada', and its function reads customer = 'cyd' now"));
  auto renamed =
      await(saved.loop, (*owned)->begin_step(0, "mail", inputs_of(Json{{"client", "'cyd'"}, {"rate", "2"}})));
  REQUIRE(renamed);
  CHECK(renamed->event == StepStart::RunEvent::finished);
}

TEST_CASE("A failed step that runs again may read other values, and their key is another") {
  Kept saved;
  auto owned = saved.hold("w");
  REQUIRE(owned);
  REQUIRE(await(saved.loop, (*owned)->begin_step(0, "mail", inputs_of(Json{{"c", "1"}}, "aa"))));
  const std::string key = (*owned)->next_call_key();
  saved.started = "mail";
  REQUIRE(saved.end(**owned, 0, "it broke", StepState::failed));
  auto retry = await(saved.loop, (*owned)->begin_step(0, "mail", inputs_of(Json{{"c", "2"}}, "bb")));
  REQUIRE(retry);
  CHECK(retry->event == StepStart::RunEvent::run);
  CHECK((*owned)->next_call_key() != key);
}

TEST_CASE("Inputs are an object of at most 64 short texts, with a digest of hexadecimal digits") {
  Json many = Json::object(), large = Json::object();
  for (int i = 0; i < 65; i++) many[std::to_string(i)] = "1";
  for (int i = 0; i < 60; i++) large[std::to_string(i)] = std::string(200, 'x');
  CHECK_FALSE(StepInputs::of(Json::array(), "ab"));
  CHECK_FALSE(StepInputs::of(Json{{"a", 1}}, "ab"));
  CHECK_FALSE(StepInputs::of(Json{{"a", std::string(257, 'x')}}, "ab"));
  CHECK_FALSE(StepInputs::of(many, "ab"));
  CHECK_FALSE(StepInputs::of(large, "ab"));
  CHECK_FALSE(StepInputs::of(Json{{"a", "1"}}, "AB"));
  CHECK_FALSE(StepInputs::of(Json{{"a", "1"}}, ""));
  CHECK(StepInputs::of(Json::object(), "")->key_end().empty());
}

TEST_CASE("The seed of text hashes is the tenant's, and stays when the daemon starts again") {
  Kept saved;
  const uint32_t seed = workflows::hash_seed(*saved.rows, "acme");
  CHECK(seed != 0);
  CHECK(seed != workflows::hash_seed(*saved.rows, "other"));
  saved.open();
  CHECK(workflows::hash_seed(*saved.rows, "acme") == seed);
}
