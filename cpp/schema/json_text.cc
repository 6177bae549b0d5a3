#include "schema/json_text.h"

#include <array>

#include "schema/name_table.h"

namespace detent {
namespace {

constexpr unsigned kDeepest = 100;
constexpr std::size_t kLongest = std::size_t{1} << 30;
constexpr std::uint32_t kFewMembers = 12;
constexpr std::size_t kBytesPerValue = 12;
constexpr std::size_t kLongestExponent = 9;

// The character that an escape stands for; 0 for escapes that JsonText refuses.
constexpr char unescaped(char escape) {
  switch (escape) {
    case '"': return '"';
    case '\\': return '\\';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
  }
}

// Whether a byte stands for itself in a string.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (unsigned byte = 0x20; byte < 256; ++byte) plain[byte] = byte != '"' && byte != '\\';
  return plain;
}();

bool is_digit(char character) { return character >= '0' && character <= '9'; }

}  // namespace

std::optional<JsonText> JsonText::read(std::string_view text) {
  JsonText found(text);
  if (text.size() > kLongest) return std::nullopt;
  found.values_.reserve(text.size() / kBytesPerValue + 1);
  found.skip_space();
  if (!found.read_value(0)) return std::nullopt;
  found.skip_space();
  if (found.at_ != text.size()) return std::nullopt;
  return found;
}

JsonText::Index JsonText::member(Index object, std::string_view name) const {
  const Index end = after(object);
  for (Index at = first(object); at < end; at = after(at + 1)) {
    if (values_[at].text == name) return at + 1;
  }
  return kNone;
}

void JsonText::skip_space() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
    ++at_;
  }
}

bool JsonText::take(char character) {
  if (at_ >= text_.size() || text_[at_] != character) return false;
  ++at_;
  return true;
}

bool JsonText::read_value(unsigned depth) {
  if (at_ >= text_.size() || depth > kDeepest) return false;
  const auto index = static_cast<Index>(values_.size());
  const auto begin = static_cast<std::uint32_t>(at_);
  switch (text_[at_]) {
    case '"': return read_string();
    case 'n': return read_word("null", JsonKind::null);
    case 't': return read_word("true", JsonKind::boolean);
    case 'f': return read_word("false", JsonKind::boolean);
    case '{':
      values_.push_back({JsonKind::object, begin, begin, index, 0, {}});
      if (!read_members(index, depth + 1)) return false;
      break;
    case '[':
      values_.push_back({JsonKind::array, begin, begin, index, 0, {}});
      if (!read_items(index, depth + 1)) return false;
      break;
    default: return read_number();
  }
  JsonValue& value = values_[index];
  value.end = static_cast<std::uint32_t>(at_);
  value.next = static_cast<Index>(values_.size());
  value.text = text_.substr(begin, at_ - begin);
  return true;
}

bool JsonText::read_members(Index index, unsigned depth) {
  ++at_;
  skip_space();
  if (take('}')) return true;
  NameTable names;  // where they are many
  do {
    skip_space();
    const auto name = static_cast<Index>(values_.size());
    if (at_ >= text_.size() || text_[at_] != '"' || !read_string()) return false;
    if (values_[index].count < kFewMembers) {
      if (is_repeated(index, name)) return false;
    } else {
      if (names.empty()) {
        for (Index at = first(index); at < name; at = after(at + 1)) names.insert(values_[at].text);
      }
      if (!names.insert(values_[name].text)) return false;
    }
    skip_space();
    if (!take(':')) return false;
    skip_space();
    if (!read_value(depth)) return false;
    ++values_[index].count;
    skip_space();
  } while (take(','));
  return take('}');
}

bool JsonText::is_repeated(Index object, Index name) const {
  for (Index at = first(object); at < name; at = after(at + 1)) {
    if (values_[at].text == values_[name].text) return true;
  }
  return false;
}

bool JsonText::read_items(Index index, unsigned depth) {
  ++at_;
  skip_space();
  if (take(']')) return true;
  do {
    skip_space();
    if (!read_value(depth)) return false;
    ++values_[index].count;
    skip_space();
  } while (take(','));
  return take(']');
}

bool JsonText::read_string() {
  const auto begin = static_cast<std::uint32_t>(at_);
  std::string* copy = nullptr;
  std::size_t from = ++at_;
  for (;;) {
    while (at_ < text_.size() && kPlain[static_cast<std::uint8_t>(text_[at_])]) ++at_;
    if (at_ >= text_.size()) return false;
    if (copy) copy->append(text_, from, at_ - from);
    if (text_[at_] == '"') break;
    if (text_[at_] != '\\' || at_ + 1 >= text_.size()) return false;
    const char meant = unescaped(text_[at_ + 1]);
    if (meant == 0) return false;
    if (!copy) {
      copy = &unescaped_.emplace_back();
      copy->append(text_, from, at_ - from);
    }
    *copy += meant;
    at_ += 2;
    from = at_;
  }
  const std::string_view characters = copy ? std::string_view(*copy) : text_.substr(begin + 1, at_ - begin - 1);
  ++at_;
  const auto next = static_cast<Index>(values_.size() + 1);
  values_.push_back({JsonKind::string, begin, static_cast<std::uint32_t>(at_), next, 0, characters});
  return true;
}

bool JsonText::read_number() {
  const std::size_t begin = at_;
  const auto digits = [&] {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ > from;
  };
  take('-');
  if (!take('0') && !digits()) return false;
  if (take('.') && !digits()) return false;
  if (take('e') || take('E')) {
    if (!take('+')) take('-');
    const std::size_t from = at_;
    if (!digits() || at_ - from > kLongestExponent) return false;
  }
  const auto next = static_cast<Index>(values_.size() + 1);
  values_.push_back({JsonKind::number, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_), next, 0,
                     text_.substr(begin, at_ - begin)});
  return true;
}

bool JsonText::read_word(std::string_view word, JsonKind kind) {
  if (!text_.substr(at_).starts_with(word)) return false;
  const auto begin = static_cast<std::uint32_t>(at_);
  at_ += word.size();
  const auto next = static_cast<Index>(values_.size() + 1);
  values_.push_back({kind, begin, static_cast<std::uint32_t>(at_), next, 0, word});
  return true;
}

}  // namespace detent
