// The part of Connection that hands a connection over to the next process: pause() and leave() in the old process,
// go_on() in the new one, and the notes in the record.
#include "supervisor/base/json/json.h"
#include "supervisor/protocol/mcp/connection.h"

namespace mcp {

void Connection::pause() {
  if (saved_) reader_.reset();
}

void Connection::leave() {
  if (!saved_) return;
  reader_.reset();
  saved_->record.write_rest(input_.unhandled());
  note(ConnectionRecord::reading, input_.lines.is_discarding());
  saved_->leave();
}

// Continues the connection of the previous process. Requests in work when that process ended are lost. Their client
// still waits for answers, so each gets an error.
void Connection::go_on(const ConnectionRecord::Read& before) {
  conversation_->restore(before.handshake);
  input_.add(before.rest);
  for (const RequestId& id : before.calls) {
    refuse(id,
           {ErrorCode::internal_error,
            "warderd was restarted while this request ran; its answer is lost, and the request may have had effects",
            {{"code", "interrupted"}, {"remedy", "check the effects of the request, then send it again"}}});
  }
  note_calls();
}

void Connection::settings_changed() {
  if (!saved_) return;
  saved_->handshake = dump_json(conversation_->settings());
  note_calls();
}

void Connection::note_calls() {
  if (saved_) saved_->record.write(saved_->handshake, conversation_->ids_in_work());
}

void Connection::note(ConnectionRecord::Busy kind, bool is) {
  if (saved_) saved_->record.set_busy(kind, is);
}

}  // namespace mcp
