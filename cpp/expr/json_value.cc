#include "expr/json_value.h"

#include <utility>

namespace detent {
namespace {

void append_utf8(std::string& out, std::uint32_t code_point) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code_point < 0x80) return put(code_point);
  if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
  }
  put(0x80 | (code_point & 0x3F));
}

class Parser {
 public:
  Parser(std::string_view text, std::vector<JsonValue::Part>& parts) : text_(text), parts_(parts) {}

  bool parse() {
    do {
      skip_space();
      if (!open_.empty() && expects_name_ && !read_name()) return false;
      if (!read_value()) return false;
      while (is_done_ && !open_.empty()) {
        if (!close_or_continue()) return false;
      }
    } while (!is_done_);
    skip_space();
    return at_ == text_.size();
  }

 private:
  struct Open {
    JsonValue::Part part;
    std::string name;  // of the member that is being read
  };

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char byte) {
    if (peek() != byte) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
  }

  void add(JsonValue::Part part) {
    parts_.push_back(std::move(part));
    is_done_ = true;
  }

  // Reads a scalar, or the beginning of a container; an empty container is read whole.
  bool read_value() {
    is_done_ = false;
    JsonValue::Part part;
    if (peek() == '"') {
      part.kind = JsonValue::Kind::string;
      if (!read_string(part.text)) return false;
      add(std::move(part));
      return true;
    }
    if (peek() == '[' || peek() == '{') {
      const bool is_object = text_[at_++] == '{';
      part.kind = is_object ? JsonValue::Kind::object : JsonValue::Kind::array;
      skip_space();
      if (take(is_object ? '}' : ']')) {
        add(std::move(part));
        return true;
      }
      open_.push_back({std::move(part), {}});
      expects_name_ = is_object;
      return true;
    }
    const std::size_t first = at_;
    while (at_ < text_.size() && std::string_view(" \t\n\r,:[]{}\"").find(text_[at_]) == std::string_view::npos) ++at_;
    const std::string_view word = text_.substr(first, at_ - first);
    if (word == "true" || word == "false" || word == "null") {
      part.text = word;
    } else {
      std::optional<Decimal> number = parse_decimal(word);
      if (!number) return false;
      part.kind = JsonValue::Kind::number;
      part.number = std::move(*number);
    }
    add(std::move(part));
    return true;
  }

  bool read_name() {
    if (!read_string(open_.back().name)) return false;
    skip_space();
    if (!take(':')) return false;
    skip_space();
    return true;
  }

  // After a value inside a container.
  bool close_or_continue() {
    Open& last = open_.back();
    const auto value = static_cast<std::uint32_t>(parts_.size() - 1);
    const bool is_object = last.part.kind == JsonValue::Kind::object;
    if (is_object) {
      last.part.members[last.name] = value;
    } else {
      last.part.items.push_back(value);
    }
    skip_space();
    if (take(',')) {
      expects_name_ = is_object;
      is_done_ = false;
      return true;
    }
    if (!take(is_object ? '}' : ']')) return false;
    JsonValue::Part part = std::move(last.part);
    open_.pop_back();
    add(std::move(part));
    return true;
  }

  bool read_string(std::string& out) {
    out.clear();
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const char byte = text_[at_++];
      if (byte == '"') return true;
      if (byte != '\\') {
        out += byte;
        continue;
      }
      const char letter = peek();
      ++at_;
      if (letter == 'u') {
        if (!read_escape(out)) return false;
        continue;
      }
      constexpr std::string_view kLetters = "\"\\/bfnrt", kBytes = "\"\\/\b\f\n\r\t";
      const std::size_t index = kLetters.find(letter);
      if (letter == '\0' || index == std::string_view::npos) return false;
      out += kBytes[index];
    }
    return false;
  }

  bool read_escape(std::string& out) {
    std::uint32_t unit = 0;
    if (!read_hex(unit)) return false;
    if (unit >= 0xD800 && unit < 0xDC00) {
      std::uint32_t low = 0;
      if (!take('\\') || !take('u') || !read_hex(low) || low < 0xDC00 || low >= 0xE000) return false;
      unit = 0x10000 + ((unit & 0x3FF) << 10 | (low & 0x3FF));
    }
    append_utf8(out, unit);
    return true;
  }

  bool read_hex(std::uint32_t& value) {
    for (int i = 0; i < 4; ++i) {
      const char digit = peek();
      ++at_;
      const std::size_t index = std::string_view("0123456789abcdefABCDEF").find(digit);
      if (digit == '\0' || index == std::string_view::npos) return false;
      value = value << 4 | static_cast<std::uint32_t>(index < 16 ? index : index - 6);
    }
    return true;
  }

  std::string_view text_;
  std::vector<JsonValue::Part>& parts_;
  std::vector<Open> open_;
  std::size_t at_ = 0;
  bool is_done_ = false;  // the last part is a whole value that is in no container yet
  bool expects_name_ = false;
};

}  // namespace

std::optional<JsonValue> JsonValue::parse(std::string_view text) {
  JsonValue value;
  if (!Parser(text, value.parts_).parse()) return std::nullopt;
  return value;
}

std::string JsonValue::key() const {
  // Each string has its length before it, so that different values have different keys. The stack holds texts to be
  // appended and parts to be described.
  std::string out;
  std::vector<std::pair<std::string, const Part*>> pending{{"", &parts_.back()}};
  while (!pending.empty()) {
    const auto [text, part] = std::move(pending.back());
    pending.pop_back();
    out += text;
    if (!part) continue;
    const auto push_string = [&](const std::string& string) {
      return '"' + std::to_string(string.size()) + ':' + string;
    };
    switch (part->kind) {
      case Kind::word: out += part->text; break;
      case Kind::number:
        out += (part->number.is_negative ? "-." : ".") + part->number.digits + 'e' + std::to_string(part->number.point);
        break;
      case Kind::string: out += push_string(part->text); break;
      case Kind::array:
        pending.emplace_back("]", nullptr);
        for (std::size_t i = part->items.size(); i-- > 0;) pending.emplace_back("[", &parts_[part->items[i]]);
        break;
      case Kind::object:
        pending.emplace_back("}", nullptr);
        for (auto member = part->members.rbegin(); member != part->members.rend(); ++member) {
          pending.emplace_back('{' + push_string(member->first), &parts_[member->second]);
        }
        break;
    }
  }
  return out;
}

}  // namespace detent
