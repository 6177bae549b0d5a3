#include "bpe/merge_reader.h"

#include <bit>
#include <functional>

#include "base/error.h"

namespace detent {
namespace {

constexpr std::uint32_t kNoCodePoint = UINT32_MAX;

void append_utf8(std::uint32_t point, std::string& text) {
  if (point < 0x80) {
    text += static_cast<char>(point);
    return;
  }
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  text += static_cast<char>((0xFF00u >> (more + 1) & 0xFF) | point >> (6 * more));
  for (int i = more; i-- > 0;) text += static_cast<char>(0x80 | (point >> (6 * i) & 0x3F));
}

// Reads the JSON of an array of strings, or of arrays of strings. A function returns false at any other text.
class JsonStrings {
 public:
  explicit JsonStrings(std::string_view json) : json_(json) {}

  bool skip(char character) {
    while (at_ < json_.size() && std::string_view(" \t\n\r").find(json_[at_]) != std::string_view::npos) ++at_;
    if (at_ == json_.size() || json_[at_] != character) return false;
    ++at_;
    return true;
  }
  bool is_at_end() {
    skip('\0');  // skips white space
    return at_ == json_.size();
  }

  // Reads a string. `buffer` is used for one with escapes, and must outlive `text`.
  bool read(std::string_view& text, std::string& buffer) {
    if (!skip('"')) return false;
    const std::size_t first = at_;
    for (; at_ < json_.size() && json_[at_] != '\\'; ++at_) {
      if (static_cast<std::uint8_t>(json_[at_]) < 0x20) return false;
      if (json_[at_] != '"') continue;
      text = json_.substr(first, at_++ - first);
      return true;
    }
    buffer.assign(json_.substr(first, at_ - first));
    while (at_ < json_.size()) {
      const char next = json_[at_++];
      if (next == '"') {
        text = buffer;
        return true;
      }
      if (static_cast<std::uint8_t>(next) < 0x20) return false;
      if (next != '\\') {
        buffer += next;
      } else if (!read_escape(buffer)) {
        return false;
      }
    }
    return false;
  }

 private:
  bool read_escape(std::string& buffer) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (at_ == json_.size()) return false;
    const char letter = json_[at_++];
    if (const std::size_t index = kLetters.find(letter); index != std::string_view::npos) {
      buffer += kMeanings[index];
      return true;
    }
    std::uint32_t point = letter == 'u' ? read_hexadecimal() : kNoCodePoint;
    if (point >= 0xD800 && point < 0xDC00 && json_.substr(at_, 2) == "\\u") {
      at_ += 2;
      const std::uint32_t low = read_hexadecimal();
      if (low < 0xDC00 || low >= 0xE000) return false;
      point = 0x10000 + (point - 0xD800) * 0x400 + (low - 0xDC00);
    }
    if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return false;
    append_utf8(point, buffer);
    return true;
  }

  std::uint32_t read_hexadecimal() {
    std::uint32_t value = 0;
    if (json_.size() - at_ < 4) return kNoCodePoint;
    for (int i = 0; i < 4; ++i) {
      const char digit = json_[at_++];
      const auto lower = static_cast<char>(digit | 0x20);
      if (digit >= '0' && digit <= '9') {
        value = value * 16 + static_cast<std::uint32_t>(digit - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        value = value * 16 + static_cast<std::uint32_t>(lower - 'a' + 10);
      } else {
        return kNoCodePoint;
      }
    }
    return value;
  }

  std::string_view json_;
  std::size_t at_ = 0;
};

// The two names of an entry.
class Entry {
 public:
  bool read(JsonStrings& strings) {
    if (strings.skip('[')) {
      return strings.read(left, left_buffer_) && strings.skip(',') && strings.read(right, right_buffer_) &&
             strings.skip(']');
    }
    std::string_view both;
    if (!strings.read(both, left_buffer_)) return false;
    const std::size_t space = both.find(' ');
    if (space == std::string_view::npos) return false;
    left = both.substr(0, space);
    right = both.substr(space + 1);
    return right.find(' ') == std::string_view::npos;
  }

  std::string_view left, right;

 private:
  std::string left_buffer_, right_buffer_;
};

}  // namespace

MergeReader::MergeReader(const std::vector<std::pair<std::string_view, std::uint32_t>>& ids)
    : names_(ids), slots_(std::bit_ceil(names_.size() * 2 + 2)) {
  for (std::uint32_t index = 0; index < names_.size(); ++index) {
    const std::size_t hash = std::hash<std::string_view>{}(names_[index].first);
    std::size_t i = hash & (slots_.size() - 1);
    while (slots_[i].index != MergeTable::kNone) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {static_cast<std::uint32_t>(hash >> 32), index};
  }
}

std::optional<std::uint32_t> MergeReader::find(std::string_view name) const {
  const std::size_t hash = std::hash<std::string_view>{}(name);
  for (std::size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
    if (slots_[i].index == MergeTable::kNone) return std::nullopt;
    const auto& [known, id] = names_[slots_[i].index];
    if (slots_[i].hash == static_cast<std::uint32_t>(hash >> 32) && known == name) return id;
  }
}

std::vector<Merge> MergeReader::read(std::string_view json, std::string_view unmerged) const {
  JsonStrings strings(json);
  std::vector<Merge> merges;
  std::int64_t position = 0;
  const auto require = [&position](bool good) {
    if (!good) throw Error(ErrorKind::argument, "merges", position);
  };
  require(strings.skip('['));
  Entry entry;
  std::string joined;
  for (bool more = !strings.skip(']'); more; ++position) {
    require(entry.read(strings));
    if (unmerged.empty() || entry.right.find(unmerged) == std::string_view::npos) {
      joined.assign(entry.left).append(entry.right);
      const std::optional<std::uint32_t> left = find(entry.left), right = find(entry.right), token = find(joined);
      require(left && right && token);
      merges.push_back({*left, *right, static_cast<std::uint32_t>(merges.size()), *token});
    }
    more = strings.skip(',');
    require(more || strings.skip(']'));
  }
  require(strings.is_at_end());
  return merges;
}

}  // namespace detent
