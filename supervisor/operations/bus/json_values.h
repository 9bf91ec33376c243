// JSON values on D-Bus: an object becomes a{sv}. Its members: text s, numbers t, bool b, lists of texts as, lists of
// objects aa{sv}, objects a{sv}. Other values, null and negative numbers too, are left out.
// Used by: history.cc, tenants.cc. No errors but sd-bus's.
#pragma once
#include "supervisor/base/json/json_value.h"
#include "supervisor/operations/bus/message.h"

namespace bus {

// Negative result: -errno.
int append_object(sd_bus_message* to, const Json& object);
int append_objects(sd_bus_message* to, const Json& list);  // aa{sv}

}  // namespace bus
