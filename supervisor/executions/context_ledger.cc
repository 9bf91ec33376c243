#include "supervisor/executions/context_ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/records/journal/tokens.h"

namespace executions {
namespace {

constexpr size_t kSample = 256;        // definitions that are measured
constexpr size_t kEnvelopeBytes = 40;  // {"name":"","description":"", ... }

}  // namespace

DefinitionSize definition_size(const catalog::Catalog& catalog) {
  constexpr size_t kRead = 16;  // definitions whose tokens are estimated
  const size_t callable = catalog.callable();
  if (callable == 0) return {};
  const size_t sample_size = std::min(callable, kSample);
  uint64_t bytes = 0;
  std::string read;
  for (size_t i = 0; i < sample_size; i++) {
    const auto number = static_cast<uint32_t>(i * callable / sample_size);
    const catalog::ToolView tool = catalog.tool(number);
    bytes += tool.name.size() + tool.description.size() + catalog.rest(number).size() + kEnvelopeBytes;
    if (i % ((sample_size + kRead - 1) / kRead) == 0)
      read +=
          fmt::format(R"({{"name":"{}","description":"{}",{}}},)", tool.name, tool.description, catalog.rest(number));
  }
  const uint64_t all = bytes * callable / sample_size;
  return {all, journal::estimated_tokens(all, read)};
}

uint64_t read_tokens_of(const tenants::Workspace& workspace, const std::vector<std::pair<uint64_t, std::string>>& files,
                        uint64_t bytes) {
  constexpr size_t kBytes = 2048;
  std::string sample;
  for (const auto& [size, path] : files) {
    auto name = RelativePath::parse(path);
    if (!name) continue;
    auto range = workspace.read(*name, size / 3, kBytes);
    if (range && range->bytes.find('\0') == std::string::npos) sample += range->bytes;
  }
  return journal::estimated_tokens(bytes, sample);
}

uint64_t returned_tokens(const mcp::ToolResult& result) {
  uint64_t tokens = 0;
  for (const auto& block : result.content) {
    const auto* text = std::get_if<mcp::Text>(&block);
    tokens += text ? journal::estimated_tokens(text->text) : journal::kPictureTokens;
  }
  return tokens;
}

}  // namespace executions
