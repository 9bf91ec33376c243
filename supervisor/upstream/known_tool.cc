#include "supervisor/upstream/known_tool.h"

#include <fmt/format.h>

#include "supervisor/base/json/json.h"

namespace upstream {
namespace {

constexpr size_t kMaxToolName = 128;

}  // namespace

Result<std::shared_ptr<const KnownTool>> KnownTool::read(Json definition) {
  if (!definition.is_object()) return fail(Code::invalid, "a tool's definition is not an object");
  const auto name = definition.find("name");
  if (name == definition.end() || !name->is_string() || name->get_ref<const std::string&>().empty() ||
      name->get_ref<const std::string&>().size() > kMaxToolName)
    return fail(Code::invalid, fmt::format("a tool's name is not a text of 1 to {} bytes", kMaxToolName));
  std::shared_ptr<KnownTool> tool(new KnownTool(std::make_shared<const Json>(std::move(definition))));
  if (const auto schema = tool->definition_->find("inputSchema"); schema != tool->definition_->end()) {
    TRY(tool->mirrored_, read_mirrored(*schema));
  }
  return std::shared_ptr<const KnownTool>(std::move(tool));
}

const Json* KnownTool::member(const char* key) const {
  const auto it = definition_->find(key);
  return it == definition_->end() ? nullptr : &*it;
}

// Two calls may compile at once: the lock is not held meanwhile, as a job never waits for another one.
Result<KnownTool::Schema> KnownTool::compiled_input(WorkMeter& meter) const {
  {
    std::lock_guard lock(mutex_);
    if (input_) return *input_;
  }
  Schema schema;
  if (const Json* source = input_schema()) {
    const std::shared_ptr<const Json> shared(definition_, source);
    auto compiled = policies::JsonSchema::compile(shared, policies::JsonSchema::Unknown::let_pass, meter);
    if (!compiled && compiled.error().code != Code::invalid) return tl::unexpected<Error>(std::move(compiled).error());
    if (compiled) schema = *std::move(compiled);
  }
  std::lock_guard lock(mutex_);
  if (!input_) input_ = std::move(schema);
  return *input_;
}

Result<Transport::Arguments> KnownTool::write(const Json& arguments, WorkMeter& meter) const {
  TRY(const Schema schema, compiled_input(meter));
  if (schema) {
    auto fits = schema->check(arguments, meter);
    if (!fits && fits.error().code == Code::invalid)
      return fail(Code::invalid,
                  fmt::format("the arguments of '{}' do not match its schema: {}", name(), fits.error().what),
                  "get_tool_definition shows its parameters");
    if (!fits)
      return tl::unexpected<Error>(
          std::move(fits).error().within(fmt::format("the arguments of '{}' cannot be checked", name())));
  }
  return Transport::Arguments{std::make_shared<const std::string>(dump_json(arguments)), mirror(mirrored_, arguments)};
}

}  // namespace upstream
