// Reads WordNet's files: index.POS (a word's senses, most common first, as offsets), data.POS (the words and pointers
// of each sense) and POS.exc (irregular forms). The format is wndb(5WN).
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "catalog/thesaurus.h"
#include "catalog/words.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/fd.h"

namespace catalog {
namespace {

constexpr const char* kParts[] = {"noun", "verb", "adj", "adv"};  // of speech
constexpr size_t kSenses = 2;                                     // senses of a word as one part of speech
constexpr size_t kMaxWordNetBytes = 64 << 20;
constexpr size_t kMaxThesaurusWords = 400'000;
constexpr size_t kMaxRelated = 32;  // relations of one word
constexpr size_t kReadBytes = 1 << 20;

bool is_plain_word(std::string_view word) {
  return !word.empty() && word.size() <= kMaxWordBytes && std::all_of(word.begin(), word.end(), is_lower_or_digit);
}

// The fields of a line, between spaces.
class LineFields {
 public:
  explicit LineFields(std::string_view line) : rest_(line) {}
  std::string_view text() {  // empty: the line has no more fields
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    const std::string_view field = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(field.size());
    return field;
  }
  std::optional<uint32_t> number(int base = 10) {
    const std::string_view field = text();
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value, base);
    if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
    return value;
  }

 private:
  std::string_view rest_;
};

struct Synset {
  std::vector<std::string> words;  // plain ones, lower case
  std::vector<uint32_t> wider;     // offsets
};

// The synset at an offset of a data file; nullopt: there is no synset.
std::optional<Synset> synset_at(std::string_view file, uint32_t offset) {
  if (offset >= file.size() || (offset > 0 && file[offset - 1] != '\n')) return std::nullopt;
  std::string_view line = file.substr(offset);
  line = line.substr(0, line.find_first_of("|\n"));
  LineFields in(line);
  if (in.number() != offset) return std::nullopt;
  in.text();  // the lexicographer's file
  in.text();  // part of speech
  const auto words = in.number(16);
  if (!words || *words == 0) return std::nullopt;
  Synset synset;
  for (uint32_t i = 0; i < *words; i++) {
    std::string word(in.text());
    if (word.empty() || in.text().empty()) return std::nullopt;
    word.resize(std::min(word.find('('), word.size()));  // "out(p)": the position of an adjective
    word = lower_case(word);
    if (is_plain_word(word)) synset.words.push_back(std::move(word));
  }
  const auto pointers = in.number();
  if (!pointers) return std::nullopt;
  for (uint32_t i = 0; i < *pointers; i++) {
    const std::string_view symbol = in.text();
    const auto to = in.number();
    in.text();  // part of speech
    if (!to || in.text().empty()) return std::nullopt;
    if (symbol == "@") synset.wider.push_back(*to);
  }
  return synset;
}

}  // namespace

struct ThesaurusLoading::State {
  enum class Phase { index, exceptions, sorting, data, finishing, done };
  struct Sense {
    uint32_t word, offset;
  };
  struct Link {
    uint32_t word, other;  // other << 1 | wider
    auto operator<=>(const Link&) const = default;
  };

  std::string folder;
  Phase phase = Phase::index;
  size_t part = 0;  // of kParts
  Fd file;
  bool full = false;  // `text` has the whole file
  std::string text;
  size_t at = 0;  // in text, or in senses
  std::unordered_map<std::string, uint32_t> words;
  std::vector<Sense> senses[std::size(kParts)];
  std::vector<std::pair<std::string, std::string>> exceptions;
  std::vector<Link> links;
  Thesaurus produced;

  std::string file_name() const {
    return phase == Phase::exceptions ? fmt::format("{}.exc", kParts[part])
                                      : fmt::format("{}.{}", phase == Phase::index ? "index" : "data", kParts[part]);
  }
  auto broken(std::string_view message) const {
    return fail(Code::invalid, fmt::format("{}/{}, byte {}: {}", folder, file_name(), at, message));
  }
  Result<> read_more();
  Result<> read_index_line(std::string_view line);
  Result<> read_sense(const Sense& sense);
  Result<> go_on();
  void next_file();
  void sort_words();
  void finish();
};

Result<> ThesaurusLoading::State::read_more() {
  const std::string path = folder + "/" + file_name();
  if (!file) {
    file = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
      const bool is_absent = errno == ENOENT || errno == ENOTDIR;
      return fail_errno(errno, "open " + path, is_absent ? Code::not_found : Code::unavailable);
    }
    if (!S_ISREG(status.st_mode)) return fail(Code::invalid, path + " is not a regular file");
    if (status.st_size > static_cast<off_t>(kMaxWordNetBytes))
      return fail(Code::invalid, path + " is larger than a WordNet file");
    text.reserve(static_cast<size_t>(status.st_size));
  }
  const size_t before = text.size();
  text.resize(before + kReadBytes);
  const ssize_t count = ::read(file.get(), text.data() + before, kReadBytes);
  if (count < 0) return fail_errno(errno, "read " + path, Code::unavailable);
  text.resize(before + static_cast<size_t>(count));
  if (text.size() > kMaxWordNetBytes) return fail(Code::invalid, path + " is larger than a WordNet file");
  full = count == 0;
  return {};
}

// lemma pos synset_cnt p_cnt [ptr_symbol...] sense_cnt tagsense_cnt synset_offset...
Result<> ThesaurusLoading::State::read_index_line(std::string_view line) {
  LineFields in(line);
  const std::string_view lemma = in.text();
  in.text();
  const auto count = in.number();
  const auto symbols = in.number();
  if (!count || !symbols || *symbols > 64) return broken("not a line of an index");
  for (uint32_t i = 0; i < *symbols; i++) in.text();
  in.text();
  in.text();
  if (!is_plain_word(lemma)) return {};
  const uint32_t word = words.try_emplace(std::string(lemma), static_cast<uint32_t>(words.size())).first->second;
  if (words.size() > kMaxThesaurusWords) return broken("the index has too many words");
  for (uint32_t i = 0; i < std::min<uint32_t>(*count, kSenses); i++) {
    const auto offset = in.number();
    if (!offset) return broken("not an offset");
    senses[part].push_back({word, *offset});
  }
  return {};
}

Result<> ThesaurusLoading::State::read_sense(const Sense& sense) {
  const auto synset = synset_at(text, sense.offset);
  if (!synset) return broken(fmt::format("no synset at {}", sense.offset));
  auto link = [&](const std::vector<std::string>& peers, uint32_t wider) {
    for (const auto& other : peers)
      if (const auto it = words.find(other); it != words.end() && it->second != sense.word)
        links.push_back({sense.word, it->second << 1 | wider});
  };
  link(synset->words, 0);
  for (const uint32_t offset : synset->wider) {
    const auto wider = synset_at(text, offset);
    if (!wider) return broken(fmt::format("no synset at {}", offset));
    link(wider->words, 1);
  }
  return {};
}

void ThesaurusLoading::State::next_file() {
  file.reset();
  text.clear();
  full = false;
  at = 0;
  if (++part < std::size(kParts)) return;
  part = 0;
  phase = phase == Phase::index ? Phase::exceptions : phase == Phase::exceptions ? Phase::sorting : Phase::finishing;
}

// Words were numbered in the order of the files; from here on, in alphabetical order.
void ThesaurusLoading::State::sort_words() {
  std::vector<const std::string*> sorted;
  for (const auto& [word, number] : words) sorted.push_back(&word);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return *a < *b; });
  std::vector<uint32_t> numbers(words.size());
  for (uint32_t i = 0; i < sorted.size(); i++) {
    numbers[words[*sorted[i]]] = i;
    produced.words_ += *sorted[i];
    produced.word_ends_.push_back(static_cast<uint32_t>(produced.words_.size()));
  }
  for (auto& [word, number] : words) number = numbers[number];
  for (auto& all : senses)
    for (Sense& sense : all) sense.word = numbers[sense.word];
  std::sort(exceptions.begin(), exceptions.end());
  for (const auto& [form, base] : exceptions) {
    const auto it = words.find(base);
    if (it == words.end()) continue;
    produced.irregular_.push_back(
        {static_cast<uint32_t>(produced.irregular_texts_.size()), it->second, static_cast<uint8_t>(form.size())});
    produced.irregular_texts_ += form;
  }
  exceptions = {};
  phase = Phase::data;
}

void ThesaurusLoading::State::finish() {
  text = {};
  words = {};
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  const Stemmer stemmer;
  std::unordered_map<std::string, uint32_t> stems;
  std::vector<uint32_t> stem_of(produced.size());
  for (uint32_t word = 0; word < produced.size(); word++) {
    const auto [known, is_new] =
        stems.try_emplace(std::string(stemmer.stem(produced.word(word))), static_cast<uint32_t>(stems.size()));
    stem_of[word] = known->second;
    if (!is_new) continue;
    produced.stems_ += known->first;
    produced.stem_ends_.push_back(static_cast<uint32_t>(produced.stems_.size()));
  }
  size_t next = 0;
  for (uint32_t word = 0; word < produced.size(); word++) {
    std::vector<uint32_t> synonyms, wider;
    for (; next < links.size() && links[next].word == word; next++)
      ((links[next].other & 1) == 0 ? synonyms : wider)
          .push_back(stem_of[links[next].other >> 1] << 1 | (links[next].other & 1));
    synonyms.insert(synonyms.end(), wider.begin(), wider.end());
    if (synonyms.size() > kMaxRelated) synonyms.resize(kMaxRelated);
    produced.related_.insert(produced.related_.end(), synonyms.begin(), synonyms.end());
    produced.related_ends_.push_back(static_cast<uint32_t>(produced.related_.size()));
  }
  links = {};
  for (auto& all : senses) all = {};
  produced.words_.shrink_to_fit();
  produced.word_ends_.shrink_to_fit();
  produced.stems_.shrink_to_fit();
  produced.stem_ends_.shrink_to_fit();
  produced.related_.shrink_to_fit();
  produced.related_ends_.shrink_to_fit();
  produced.irregular_.shrink_to_fit();
  produced.irregular_texts_.shrink_to_fit();
  phase = Phase::done;
}

// Does one step: one read, one line or one sense.
Result<> ThesaurusLoading::State::go_on() {
  if (phase == Phase::sorting) {
    sort_words();
    return {};
  }
  if (phase == Phase::finishing) {
    finish();
    return {};
  }
  if (!full) return read_more();
  if (phase == Phase::data) {
    if (at == senses[part].size()) {
      next_file();
      return {};
    }
    return read_sense(senses[part][at++]);
  }
  if (at >= text.size()) {
    next_file();
    return {};
  }
  const std::string_view line = std::string_view(text).substr(at, text.find('\n', at) - at);
  if (phase == Phase::index) {
    if (!line.starts_with(' ')) CHECKED(read_index_line(line));  // the licence is indented
  } else {
    LineFields in(line);
    const std::string_view form = in.text(), base = in.text();
    if (base.empty()) return broken("not a form and its base");
    if (is_plain_word(form) && is_plain_word(base) && exceptions.size() < kMaxThesaurusWords)
      exceptions.emplace_back(form, base);
  }
  at += line.size() + 1;
  return {};
}

ThesaurusLoading::ThesaurusLoading(std::string folder) : state_(std::make_unique<State>()) {
  state_->folder = std::move(folder);
}
ThesaurusLoading::~ThesaurusLoading() = default;
ThesaurusLoading::ThesaurusLoading(ThesaurusLoading&&) noexcept = default;
ThesaurusLoading& ThesaurusLoading::operator=(ThesaurusLoading&&) noexcept = default;

Result<bool> ThesaurusLoading::step(std::chrono::microseconds slice) {
  const auto until = Monotonic::now() + slice;
  for (unsigned count = 1; state_->phase != State::Phase::done; count++) {
    const auto before = state_->phase;
    CHECKED(state_->go_on());
    const bool check = count % 64 == 0 || !state_->full || state_->phase != before;
    if (check && Monotonic::now() >= until) return state_->phase == State::Phase::done;
  }
  return true;
}

std::shared_ptr<const Thesaurus> ThesaurusLoading::take() {
  return std::make_shared<const Thesaurus>(std::move(state_->produced));
}

Result<std::shared_ptr<const Thesaurus>> load_thesaurus(const std::string& folder) {
  ThesaurusLoading loading(folder);
  for (;;) {
    TRY(const bool done, loading.step(std::chrono::seconds(1)));
    if (done) return loading.take();
  }
}

}  // namespace catalog
