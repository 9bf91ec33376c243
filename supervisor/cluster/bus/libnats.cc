#include "supervisor/cluster/bus/libnats.h"

#include <dlfcn.h>

#include <mutex>
#include <string>

namespace cluster {
namespace {

constexpr const char* kNatsRemedy = "install the package libnats3.4 (Debian 12) or libnats3.10 (Debian 13)";

Result<LibNats> load_nats_functions() {
  void* library = nullptr;
  for (const char* name : {"libnats.so.3.4", "libnats.so.3.10", "libnats.so"}) {
    library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library) break;
  }
  if (!library) return fail(Code::unavailable, std::string("libnats cannot be loaded: ") + ::dlerror(), kNatsRemedy);
  const char* missing = nullptr;
  auto take = [library, &missing](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function) missing = name;
  };
  LibNats nats{};
  take(nats.open, "nats_Open");
  take(nats.release_thread_memory, "nats_ReleaseThreadMemory");
  take(nats.close_and_wait, "nats_CloseAndWait");
  take(nats.status_text, "natsStatus_GetText");
  take(nats.last_error, "nats_GetLastError");
  take(nats.options_create, "natsOptions_Create");
  take(nats.options_destroy, "natsOptions_Destroy");
  take(nats.set_servers, "natsOptions_SetServers");
  take(nats.ignore_discovered_servers, "natsOptions_SetIgnoreDiscoveredServers");
  take(nats.set_name, "natsOptions_SetName");
  take(nats.set_timeout, "natsOptions_SetTimeout");
  take(nats.set_send_asap, "natsOptions_SetSendAsap");
  take(nats.set_max_reconnect, "natsOptions_SetMaxReconnect");
  take(nats.set_reconnect_buffer, "natsOptions_SetReconnectBufSize");
  take(nats.set_reconnect_delay, "natsOptions_SetCustomReconnectDelay");
  take(nats.set_retry, "natsOptions_SetRetryOnFailedConnect");
  take(nats.set_ping_interval, "natsOptions_SetPingInterval");
  take(nats.set_max_pings_out, "natsOptions_SetMaxPingsOut");
  take(nats.set_write_deadline, "natsOptions_SetWriteDeadline");
  take(nats.use_one_delivery_thread, "natsOptions_UseGlobalMessageDelivery");
  take(nats.set_nkey, "natsOptions_SetNKey");
  take(nats.set_secure, "natsOptions_SetSecure");
  take(nats.load_authorities, "natsOptions_LoadCATrustedCertificates");
  take(nats.load_certificate, "natsOptions_LoadCertificatesChain");
  take(nats.set_error_handler, "natsOptions_SetErrorHandler");
  take(nats.set_closed, "natsOptions_SetClosedCB");
  take(nats.set_disconnected, "natsOptions_SetDisconnectedCB");
  take(nats.set_reconnected, "natsOptions_SetReconnectedCB");
  take(nats.connect, "natsConnection_Connect");
  take(nats.connection_destroy, "natsConnection_Destroy");
  take(nats.max_payload, "natsConnection_GetMaxPayload");
  take(nats.connected_url, "natsConnection_GetConnectedUrl");
  take(nats.connection_error, "natsConnection_GetLastError");
  take(nats.publish, "natsConnection_PublishMsg");
  take(nats.subscribe, "natsConnection_Subscribe");
  take(nats.queue_subscribe, "natsConnection_QueueSubscribe");
  take(nats.set_pending_limits, "natsSubscription_SetPendingLimits");
  take(nats.set_on_complete, "natsSubscription_SetOnCompleteCB");
  take(nats.dropped, "natsSubscription_GetDropped");
  take(nats.subscription_destroy, "natsSubscription_Destroy");
  take(nats.message_create, "natsMsg_Create");
  take(nats.message_destroy, "natsMsg_Destroy");
  take(nats.subject, "natsMsg_GetSubject");
  take(nats.reply, "natsMsg_GetReply");
  take(nats.data, "natsMsg_GetData");
  take(nats.data_length, "natsMsg_GetDataLength");
  take(nats.header_set, "natsMsgHeader_Set");
  take(nats.header_get, "natsMsgHeader_Get");
  if (missing) return fail(Code::unavailable, std::string("libnats has no ") + missing, kNatsRemedy);
  if (nats.open(-1) != NATS_OK) return fail(Code::unavailable, "libnats cannot be initialised");
  return nats;
}

}  // namespace

namespace {

struct Loaded {
  std::mutex mutex;
  Result<LibNats> nats = fail(Code::unavailable, "not loaded");
};

Loaded& loaded_nats() {
  static Loaded loaded;
  return loaded;
}

}  // namespace

Result<const LibNats*> load_libnats() {
  Loaded& loaded = loaded_nats();
  const std::lock_guard lock(loaded.mutex);
  if (!loaded.nats) loaded.nats = load_nats_functions();
  if (!loaded.nats) return tl::unexpected<Error>(loaded.nats.error());
  return &*loaded.nats;
}

void end_libnats(std::chrono::milliseconds limit) {
  Loaded& loaded = loaded_nats();
  const std::lock_guard lock(loaded.mutex);
  if (!loaded.nats) return;
  loaded.nats->release_thread_memory();  // of this thread
  (void)loaded.nats->close_and_wait(limit.count());
}

}  // namespace cluster
