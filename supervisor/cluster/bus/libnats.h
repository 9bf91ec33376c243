// LibNats: libnats's functions, loaded with dlopen(3) when the first NatsBus connects: one program for Debian 12
// (libnats 3.4) and Debian 13 (3.10), whose libraries have different names. Only functions with opaque types are used:
// the structs of nats.h differ between the two.
// Used by: NatsBus. Errors: unavailable, libnats is missing or lacks a function.
#pragma once
#include <nats/nats.h>
#include <chrono>

#include "supervisor/base/result.h"

namespace cluster {

struct LibNats {
  decltype(&::nats_Open) open;
  decltype(&::nats_ReleaseThreadMemory) release_thread_memory;
  decltype(&::nats_CloseAndWait) close_and_wait;
  decltype(&::natsStatus_GetText) status_text;
  decltype(&::nats_GetLastError) last_error;
  decltype(&::natsOptions_Create) options_create;
  decltype(&::natsOptions_Destroy) options_destroy;
  decltype(&::natsOptions_SetServers) set_servers;
  decltype(&::natsOptions_SetIgnoreDiscoveredServers) ignore_discovered_servers;
  decltype(&::natsOptions_SetName) set_name;
  decltype(&::natsOptions_SetTimeout) set_timeout;
  decltype(&::natsOptions_SetSendAsap) set_send_asap;
  decltype(&::natsOptions_SetMaxReconnect) set_max_reconnect;
  decltype(&::natsOptions_SetReconnectBufSize) set_reconnect_buffer;
  decltype(&::natsOptions_SetCustomReconnectDelay) set_reconnect_delay;
  decltype(&::natsOptions_SetRetryOnFailedConnect) set_retry;
  decltype(&::natsOptions_SetPingInterval) set_ping_interval;
  decltype(&::natsOptions_SetMaxPingsOut) set_max_pings_out;
  decltype(&::natsOptions_SetWriteDeadline) set_write_deadline;
  decltype(&::natsOptions_UseGlobalMessageDelivery) use_one_delivery_thread;
  decltype(&::natsOptions_SetNKey) set_nkey;
  decltype(&::natsOptions_SetSecure) set_secure;
  decltype(&::natsOptions_LoadCATrustedCertificates) load_authorities;
  decltype(&::natsOptions_LoadCertificatesChain) load_certificate;
  decltype(&::natsOptions_SetErrorHandler) set_error_handler;
  decltype(&::natsOptions_SetClosedCB) set_closed;
  decltype(&::natsOptions_SetDisconnectedCB) set_disconnected;
  decltype(&::natsOptions_SetReconnectedCB) set_reconnected;
  decltype(&::natsConnection_Connect) connect;
  decltype(&::natsConnection_Destroy) connection_destroy;
  decltype(&::natsConnection_GetMaxPayload) max_payload;
  decltype(&::natsConnection_GetConnectedUrl) connected_url;
  decltype(&::natsConnection_GetLastError) connection_error;
  decltype(&::natsConnection_PublishMsg) publish;
  decltype(&::natsConnection_Subscribe) subscribe;
  decltype(&::natsConnection_QueueSubscribe) queue_subscribe;
  decltype(&::natsSubscription_SetPendingLimits) set_pending_limits;
  decltype(&::natsSubscription_SetOnCompleteCB) set_on_complete;
  decltype(&::natsSubscription_GetDropped) dropped;
  decltype(&::natsSubscription_Destroy) subscription_destroy;
  decltype(&::natsMsg_Create) message_create;
  decltype(&::natsMsg_Destroy) message_destroy;
  decltype(&::natsMsg_GetSubject) subject;
  decltype(&::natsMsg_GetReply) reply;
  decltype(&::natsMsg_GetData) data;
  decltype(&::natsMsg_GetDataLength) data_length;
  decltype(&::natsMsgHeader_Set) header_set;
  decltype(&::natsMsgHeader_Get) header_get;
};

// The result is valid until the process ends. After an error, the next call tries again. Any thread.
Result<const LibNats*> load_libnats();
// Ends the threads of the library, if it was loaded, for the end of a process: after wait_for_ended_buses(). Waits at
// most `limit`. The library cannot be used after it.
void end_libnats(std::chrono::milliseconds limit);

}  // namespace cluster
