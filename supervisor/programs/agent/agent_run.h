// AgentRun: one run of the agent: the model is asked, its calls are made, it gets their answers, until it
// answers without a call or a bound ends the run.
// Source of the model's text and calls: the model, which is not trusted. No text of the model changes what this program
// does: it can only ask for calls of the shown tools, and the daemon's policy decides about each. Used by: main.cc,
// TaskServer. Errors: none; an outcome says how the run ended.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/programs/agent/agent_settings.h"
#include "supervisor/programs/agent/daemon_tools.h"
#include "supervisor/programs/agent/model_client.h"
#include "supervisor/programs/agent/transcript.h"

namespace agent {

// How a run ends. The words of run_end_name() are in transcripts.
enum class RunEnd { done, failed, unavailable, turns, tokens, cost, errors, time, cancelled };
const char* run_end_name(RunEnd end);

struct AgentOutcome {
  RunEnd end = RunEnd::failed;
  std::string result;  // the model's answer
  std::string output;  // what the programs printed
  std::string error;   // why there is no answer; empty: there is one
  std::string hint;
  bool is_started = false;  // the daemon has allowed the run
  unsigned turns = 0;
  TokenUsage usage;
  double cost = 0;  // by the prices of the settings
};

class AgentRun {
 public:
  // All references must outlive the run.
  AgentRun(Loop& loop, http::HttpClient& client, const AgentSettings& settings, const cli::SocketPath& socket,
           AgentTranscript transcript, ProgressReporter progress);
  AgentRun(const AgentRun&) = delete;

  // Call it once.
  Task<AgentOutcome> run();
  // Ends a run that has not ended. A program that runs is ended, too.
  void cancel(const std::string& why) { stop(RunEnd::cancelled, why); }
  const std::string& session() const { return transcript_.session(); }

 private:
  Task<> work();
  Task<Result<>> converse();
  Task<Result<>> make_calls(const std::vector<ToolRequest>& requests);
  bool count(const TokenUsage& usage);
  bool is_at_bound();
  void stop(RunEnd end, std::string why, std::string hint = {});
  Result<> refuse_calls(const std::vector<ToolRequest>& requests);

  Loop& loop_;
  const AgentSettings& settings_;
  AgentTranscript transcript_;
  ProgressReporter report_;
  ModelClient model_;
  std::optional<DaemonTools> tools_;
  std::vector<ShownTool> listed_tools_;
  AgentOutcome outcome_;
  unsigned failed_calls_ = 0;  // in a row
  Event over_;
  std::optional<Scope> work_;  // last: cancelled first
};

// The members result, output, error, session, turns and usage.
Json outcome_json(const AgentOutcome& outcome, const std::string& session);

}  // namespace agent
