// JsonValue: a parsed JSON text, to be compared with others. 1.0 equals 1, "\u0061" equals "a", and the order of
// members does not matter; of members with one name, the last one counts. Parsing does not recurse.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/decimal.h"

namespace detent {

class JsonValue {
 public:
  enum class Kind : std::uint8_t { word, number, string, array, object };
  // A part of the value. Children come before their parents; the value itself is last.
  struct Part {
    Kind kind = Kind::word;
    std::string text;                              // of a word (true, false, null), or of a string, without escapes
    Decimal number;                                // of a number
    std::vector<std::uint32_t> items;              // of an array: indices of parts
    std::map<std::string, std::uint32_t> members;  // of an object
  };

  // Returns nothing for a text that is no JSON value.
  static std::optional<JsonValue> parse(std::string_view text);

  const std::vector<Part>& parts() const { return parts_; }
  // A string that is the same for two values if and only if they are equal.
  std::string key() const;

 private:
  std::vector<Part> parts_;
};

}  // namespace detent
