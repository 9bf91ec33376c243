// AgentSettings: what `warder agent` was told, checked: the model, its key, and the bounds of a run.
// Source: the command line, the environment, a systemd credential. Used by: all of this folder.
// Errors: invalid, naming the flag or the variable, and the remedy. The key appears in no error.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/programs/cli/agent.h"

namespace agent {

enum class ModelProvider { openai, anthropic };

// The ends of a run by a bound. 0: no bound, where the comment says so.
struct AgentBounds {
  unsigned turns = 20;
  uint64_t tokens = 0;                          // read and written in all turns; 0: no bound
  double cost = 0;                              // 0: no bound
  std::chrono::milliseconds time{600'000};      // of the run
  unsigned errors = 5;                          // failed calls in a row
  unsigned retries = 5;                         // of one request to the model
  std::chrono::milliseconds retry_pause{1000};  // the first one; each further pause is twice as long
};

struct TokenPrices {
  double in = 0, out = 0;  // for a million tokens
};

struct AgentSettings {
  ModelProvider provider = ModelProvider::openai;
  std::string base_url;  // without a slash at its end
  std::string model;
  std::string key;  // empty: requests have no key
  AgentBounds bounds;
  TokenPrices prices;
  unsigned tasks = 4;  // that --listen runs at one time
};

Result<AgentSettings> read_agent_settings(const cli::AgentArguments& arguments);
// `text` without the key, which a server may repeat in an error.
std::string without_key(std::string text, const std::string& key);
// Reads a small file that holds a secret, without the blanks around it. `name`: for errors.
Result<std::string> read_secret_file(const std::string& path, const std::string& name);

}  // namespace agent
