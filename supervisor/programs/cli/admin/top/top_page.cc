#include "supervisor/programs/cli/admin/top/top_page.h"

#include <algorithm>

namespace admin {
namespace {

constexpr size_t kMaxFilter = 60;

}  // namespace

int position_of(const std::string& id, const std::vector<TopRow>& rows) {
  for (size_t i = 0; i < rows.size(); i++)
    if (rows[i].id == id) return static_cast<int>(i);
  return -1;
}

void TopPage::choose(int key, const std::vector<TopRow>& rows) {
  if (rows.empty()) return;
  const int last = static_cast<int>(rows.size()) - 1, page = std::max(1, static_cast<int>(room) - 1);
  int at = position_of(chosen, rows);
  if (at < 0) at = key == kKeyUp || key == kKeyPageUp ? last + 1 : -1;
  if (key == kKeyUp) at--;
  if (key == kKeyDown) at++;
  if (key == kKeyPageUp) at -= page;
  if (key == kKeyPageDown) at += page;
  if (key == kKeyHome) at = 0;
  if (key == kKeyEnd) at = last;
  chosen = rows[static_cast<size_t>(std::clamp(at, 0, last))].id;
}

void TopPage::scroll(int key) {
  const size_t limit = lines > room ? lines - room : 0, page = std::max<size_t>(room, 2) - 1;
  if (key == kKeyUp) scrolled -= std::min<size_t>(scrolled, 1);
  if (key == kKeyDown) scrolled++;
  if (key == kKeyPageUp) scrolled -= std::min(scrolled, page);
  if (key == kKeyPageDown) scrolled += page;
  if (key == kKeyHome) scrolled = 0;
  if (key == kKeyEnd) scrolled = limit;
  scrolled = std::min(scrolled, limit);
}

TopDeed TopPage::act_on_chosen(int key, const std::vector<TopRow>& rows) {
  const int at = position_of(chosen, rows);
  if (at < 0) {
    reply = "choose an execution with the arrow keys first";
    return {};
  }
  const TopRow& row = rows[static_cast<size_t>(at)];
  if (row.ended) {
    reply = row.id + " has ended";
    return {};
  }
  if (key == 'k') {
    asks = Asks::kill;
    return {};
  }
  return {row.state == "frozen" ? TopDeed::Kind::thaw : TopDeed::Kind::freeze, row.id};
}

TopDeed TopPage::take_list_key(int key, const std::vector<TopRow>& rows) {
  switch (key) {
    case 'a':
      filter.sort = TopSort::age;
      break;
    case 'c':
      filter.sort = TopSort::cpu;
      break;
    case 'm':
      filter.sort = TopSort::memory;
      break;
    case 'w':
      filter.sort = TopSort::wall;
      break;
    case 'e':
      filter.with_ended = !filter.with_ended;
      break;
    case '/':
      asks = Asks::filter;
      break;
    case 't':
      if (const int at = position_of(chosen, rows); !filter.tenant.empty() || at < 0) {
        if (filter.tenant.empty()) reply = "choose an execution with the arrow keys first";
        filter.tenant.clear();
      } else {
        filter.tenant = rows[static_cast<size_t>(at)].tenant;
      }
      break;
    case kKeyEnter:
      if (position_of(chosen, rows) < 0) {
        reply = "choose an execution with the arrow keys first";
      } else {
        shows = Shows::execution;
        scrolled = 0;
      }
      break;
    case kKeyEscape:
      filter.words.clear();
      filter.tenant.clear();
      break;
    default:
      if (key >= kKeyUp && key <= kKeyEnd) choose(key, rows);
  }
  return {};
}

TopDeed TopPage::take_key(int key, const std::vector<TopRow>& rows) {
  reply.clear();
  if (asks == Asks::kill) {
    asks = Asks::nothing;
    if (key == 'y' || key == 'Y') return {TopDeed::Kind::kill, chosen};
    reply = "not killed";
    return {};
  }
  if (asks == Asks::filter) {
    if (key == kKeyEnter || key == kKeyEscape) asks = Asks::nothing;
    if (key == kKeyEscape) filter.words.clear();
    if (key == kKeyErase && !filter.words.empty()) filter.words.pop_back();
    if (key >= ' ' && key <= '~' && filter.words.size() < kMaxFilter) filter.words += static_cast<char>(key);
    return {};
  }
  if (key == 'k' || key == 'f') {
    if (shows != Shows::help) return act_on_chosen(key, rows);
    return {};
  }
  if (key == 'h' || key == '?') {
    shows = shows == Shows::help ? Shows::list : Shows::help;
    scrolled = 0;
    return {};
  }
  if (shows == Shows::list) {
    if (key == 'q') return {TopDeed::Kind::quit, {}};
    return take_list_key(key, rows);
  }
  if (key == 'q' || key == kKeyEscape || key == kKeyEnter) {
    shows = Shows::list;
    scrolled = 0;
  } else {
    scroll(key);
  }
  return {};
}

}  // namespace admin
