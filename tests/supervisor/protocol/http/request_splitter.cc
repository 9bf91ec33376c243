// Reads byte streams and prints how RequestParser splits them: the program under test of splitting_test.py.
// Input: lines of base64, each the bytes of one connection. Output: for each a line of JSON:
// {"requests": [[method, target, body in base64], ...], "state": "idle" | "head" | "body" | "refused" | "closed"}
#include <iostream>
#include <string>

#include "supervisor/base/base64.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/protocol/http/request_parser.h"

int main() {
  using State = http::RequestParser::State;
  constexpr const char* kStates[] = {"idle", "head", "body", "whole", "refused"};
  for (std::string line; std::getline(std::cin, line);) {
    auto bytes = from_base64(line);
    if (!bytes) return 2;
    http::RequestParser parser({});
    std::string_view rest = *bytes;
    Json requests = Json::array();
    bool closed = false;
    while (!closed) {
      const size_t used = parser.feed(rest);
      rest.remove_prefix(used);
      if (parser.state() == State::full) {
        http::IncomingRequest request = parser.take();
        closed = !request.keeps_alive;
        requests.push_back({request.method, request.target, to_base64(request.body)});
      } else if (used == 0 || parser.state() == State::refused) {
        break;
      }
    }
    std::cout << dump_json({{"requests", std::move(requests)},
                            {"state", closed ? "closed" : kStates[static_cast<int>(parser.state())]}})
              << "\n";
  }
}
