#include "vocab/merges_span.h"

namespace detent {

namespace {

// Reads over JSON without making values of it. Each function returns false where the text has another form.
class Scanner {
 public:
  explicit Scanner(std::string_view json) : json_(json) {}

  std::size_t position() const { return position_; }

  bool skip_character(char character) {
    skip_space();
    if (position_ == json_.size() || json_[position_] != character) return false;
    ++position_;
    return true;
  }

  // A name of an object and the colon after it. Names with an escape are refused.
  bool read_name(std::string_view& name) {
    skip_space();
    const std::size_t first = position_ + 1;
    if (!skip_string()) return false;
    name = json_.substr(first, position_ - 1 - first);
    return name.find('\\') == std::string_view::npos && skip_character(':');
  }

  bool skip_value() {
    std::size_t depth = 0;
    skip_space();
    while (position_ < json_.size()) {
      const char next = json_[position_];
      if (depth == 0 && (next == ',' || next == '}' || next == ']')) return true;  // after a number or a literal
      if (next == '"') {
        if (!skip_string()) return false;
        if (depth == 0) return true;
        continue;
      }
      ++position_;
      if (next == '[' || next == '{') ++depth;
      if ((next == ']' || next == '}') && --depth == 0) return true;
    }
    return false;
  }

  // An array of strings and of such arrays.
  bool skip_strings() {
    std::size_t depth = 0;
    while (position_ < json_.size()) {
      switch (json_[position_]) {
        case '[':
          ++depth;
          ++position_;
          break;
        case ']':
          ++position_;
          if (--depth == 0) return true;
          break;
        case '"':
          if (!skip_string()) return false;
          break;
        case ',':
        case ' ':
        case '\t':
        case '\n':
        case '\r': ++position_; break;
        default: return false;
      }
      if (depth == 0) return false;
    }
    return false;
  }

  void skip_space() {
    while (position_ < json_.size() && std::string_view(" \t\n\r").find(json_[position_]) != std::string_view::npos) {
      ++position_;
    }
  }

 private:
  bool skip_string() {
    if (position_ == json_.size() || json_[position_] != '"') return false;
    for (++position_; position_ < json_.size(); ++position_) {
      if (json_[position_] == '"') {
        ++position_;
        return true;
      }
      if (json_[position_] == '\\') ++position_;
    }
    return false;
  }

  std::string_view json_;
  std::size_t position_ = 0;
};

// Calls on_member(name) at each value of an object. It skips the value and returns false to give up.
template <class OnMember>
bool skip_object(Scanner& scanner, OnMember on_member) {
  if (!scanner.skip_character('{')) return false;
  if (scanner.skip_character('}')) return true;
  do {
    std::string_view name;
    if (!scanner.read_name(name) || !on_member(name)) return false;
  } while (scanner.skip_character(','));
  return scanner.skip_character('}');
}

}  // namespace

std::optional<std::pair<std::size_t, std::size_t>> merges_span(std::string_view json) {
  Scanner scanner(json);
  std::optional<std::pair<std::size_t, std::size_t>> found;
  bool has_model = false;
  const auto in_model = [&](std::string_view name) {
    if (name != "merges") return scanner.skip_value();
    scanner.skip_space();
    const std::size_t first = scanner.position();
    if (found || !scanner.skip_strings()) return false;
    found = {first, scanner.position()};
    return true;
  };
  const auto in_file = [&](std::string_view name) {
    if (name != "model") return scanner.skip_value();
    if (has_model) return false;
    has_model = true;
    return skip_object(scanner, in_model);
  };
  return skip_object(scanner, in_file) ? found : std::nullopt;
}

}  // namespace detent
