// JsonText: the values of a JSON text in one array, in the order of the text (pre-order).
//
// It reads only texts that every reader understands alike. It refuses \u escapes, a name that occurs twice in one
// object, deep nesting, and any text that is no JSON; the Python reader decides what such a text means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace detent {

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };

struct JsonValue {
  JsonKind kind;
  std::uint32_t begin, end;  // in the text
  std::uint32_t next;        // index after the value and those inside it
  std::uint32_t count;       // items, or members
  std::string_view text;     // of a string: its characters; of any other value: as it is written
};

class JsonText {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = UINT32_MAX;

  // `text` is UTF-8 and must outlive the values. Cost: linear in the text.
  static std::optional<JsonText> read(std::string_view text);

  const JsonValue& operator[](Index index) const { return values_[index]; }
  std::size_t size() const { return values_.size(); }
  // An array: its items. An object: names and values in turn.
  Index first(Index index) const { return index + 1; }
  Index after(Index index) const { return values_[index].next; }
  bool is_object(Index index) const { return values_[index].kind == JsonKind::object; }
  // Whether a value may be a schema.
  bool is_schema(Index index) const { return is_object(index) || values_[index].kind == JsonKind::boolean; }
  bool is_true(Index index) const { return values_[index].kind == JsonKind::boolean && values_[index].text == "true"; }
  bool is_false(Index index) const {
    return values_[index].kind == JsonKind::boolean && values_[index].text == "false";
  }
  // The value of a member of an object, or kNone. Cost: linear in the members.
  Index member(Index object, std::string_view name) const;
  std::string_view written(Index index) const {
    return text_.substr(values_[index].begin, values_[index].end - values_[index].begin);
  }

 private:
  explicit JsonText(std::string_view text) : text_(text) {}
  bool read_value(unsigned depth);
  bool read_members(Index index, unsigned depth);
  bool read_items(Index index, unsigned depth);
  bool read_string();
  bool read_number();
  bool read_word(std::string_view word, JsonKind kind);
  bool is_repeated(Index object, Index name) const;
  void skip_space();
  bool take(char character);

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<JsonValue> values_;
  std::deque<std::string> unescaped_;
};

}  // namespace detent
