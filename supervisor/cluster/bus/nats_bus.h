// NatsBus: the Bus over a NATS server, by libnats (libnats.h). Buckets are those of JetStream's key-value stores.
// Libnats waits and blocks, so the loop never calls it: one thread connects, subscribes and publishes in the order of
// the calls (nats_sender.h); libnats's own threads put the received messages into bounded feeds (nats_handover.h).
// Requests, buckets and watches are messages over these, awaited on the loop. Used by: warder-node. Errors of
// connect_nats(): invalid (settings), denied (the servers refuse the key or the certificate), unavailable (no libnats,
// no seed file).
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/cluster/bus/bus.h"

namespace cluster {

struct BusSettings {
  std::vector<std::string> servers;  // "nats://HOST:PORT" or "tls://HOST:PORT", at most 16
  std::string name;                  // the client's name in the server's lists: the node's
  std::string inbox_prefix;          // "_INBOX.n1": the node alone may subscribe to subjects below it
  std::string nkey_seed_file;        // read at each connect; empty: no key
  std::string authorities_file;      // PEM; empty: the system's authorities
  std::string certificate_file;      // PEM of this client, with key_file; empty: no certificate
  std::string key_file;
  std::chrono::milliseconds connect_limit{2'000};  // for one server: connection, TLS and greeting
  std::chrono::milliseconds ping_interval{1'000};  // a server that leaves two pings unanswered is given up
  std::chrono::milliseconds longest_pause{5'000};  // between attempts to reconnect; pauses are random, and grow to this
  size_t max_unsent_bytes = 8 << 20;               // of messages that the thread has not sent yet
  size_t max_reconnect_bytes = 4 << 20;            // of messages that wait for the end of a loss of the connection
  SubscriptionBounds reply_bounds{.max_messages = 16'384, .max_bytes = 64 << 20};  // answers that the loop has not read
};

// Tries each server at most five times, or twice where no server listens. If no server answers, the bus begins in the
// state `reconnecting`. Cancelling the task is safe.
Task<Result<std::unique_ptr<Bus>>> connect_nats(Loop& loop, BusSettings settings);

// Waits until the threads of all destroyed buses have ended, for the end of a process. They may need the time of
// connect_limit. Returns false after `limit`.
bool wait_for_ended_buses(std::chrono::milliseconds limit);
// Ends the threads of libnats itself, after wait_for_ended_buses(). No bus can be made after it.
void end_bus_library(std::chrono::milliseconds limit);

}  // namespace cluster
