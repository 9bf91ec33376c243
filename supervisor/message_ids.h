// Message ids of the daemon's own events, and their lines in the log. Those of executions: executions/execution_log.h.
// units/warder.catalog says of each id what happened and what to do (`journalctl -x`); a test compares both.
// Used by: the files of this folder. No errors.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/journal_log.h"
#include "supervisor/base/result.h"

// Kinds of events: MESSAGE_ID= of journald. They never change.
inline constexpr char kReloadFailedId[] = "3f2b8d1e5c7a4960b1d4e8f7a2c5096d";
inline constexpr char kSelfTestFailedId[] = "a94c6e0d2f8b4715938ad5c1e7b06f24";
inline constexpr char kDiskFailingId[] = "6b07f4a9d3e1482c8c5f2a9e0d7b31c8";
inline constexpr char kDiskWritesAgainId[] = "d81a5c3e7f0642b9a6e4907bc2f15d3a";
inline constexpr char kApprovalRequestedId[] = "0e9d7b52c4f84a6f8b3c1d6a5e2f9047";
inline constexpr char kApprovalSettledId[] = "f5a30c8e91d74b26a7d2e6b4c8093f1e";
inline constexpr char kAuditHeadId[] = "a48fe1b1a555c28103da3e1100fe8ccf";
inline constexpr char kClockFarId[] = "10444de04ff06672df4e53137c7f3868";
inline constexpr char kClockNearId[] = "17cb5ace99a4d257687ecffa976e521f";
inline constexpr char kJailerEndedId[] = "72c1e9f5a08d4b3e9f6a7d2c5b8e4013";

// Logs an error with its remedy. An error of several lines, such as all mistakes of all policy files, becomes as many
// entries with the same id, each "WHAT: line".
void log_problem(std::string_view message_id, const std::string& subject, const Error& error);
