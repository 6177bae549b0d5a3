// StringLengths: how many characters each token adds to a JSON string.
//
// The mask inside a string of at most n characters is the mask of an unbounded string without the tokens of more than n
// characters. So it needs no walk over the trie. An escape is one character, and so is an escaped pair of surrogates.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace detent {

class StringLengths {
 public:
  // Reads the tokens with these ids, whose bytes are bytes_of(id). Cost: linear in their bytes, some 2 ms for 128,000
  // tokens.
  template <class BytesOf>
  StringLengths(std::span<const std::uint32_t> ids, std::uint32_t size, BytesOf bytes_of)
      : word_count_((size + 31) / 32), rows_(kRows * word_count_), escapes_(word_count_), is_open_(word_count_) {
    PartNumbers parts;
    for (std::uint32_t id : ids) add(id, bytes_of(id), parts);
    finish();
  }

  // The number of characters in the first bytes of a string. A last character that is not complete counts.
  static std::uint32_t count(std::string_view text);
  // The position of the quotation mark that ends a string, or the size of the text.
  static std::size_t end_of_string(std::string_view text);

  // A token that ends with the quotation mark that ends the string.
  struct Closing {
    std::uint32_t id, characters;
  };
  std::span<const Closing> closing() const { return closing_; }

  // A token that ends inside a character or an escape, after so many whole characters. Tokens of the same part end with
  // the same bytes of that character.
  struct Open {
    std::uint32_t id, part, characters;
  };
  // Those that stay inside a string, by part, then by characters.
  std::span<const Open> open() const { return open_; }

  // For small `maximum`, calls act(row) with a mask row: the tokens that stay inside a string and have at most
  // `maximum` characters, and all closing tokens. Otherwise calls act_each(id) for each token inside that has more
  // characters.
  template <class Act, class ActEach>
  void limit(std::uint32_t maximum, Act act, ActEach act_each) const {
    if (maximum < kRows) return act(row_of(maximum));
    for (std::size_t i = 0; i < long_.size() && long_[i].characters > maximum; ++i) act_each(long_[i].id);
  }

  // Calls act(id) for each token of `row` that stays inside a string and has more than min(characters, kRows - 1)
  // characters.
  template <class Act>
  void each_longer(std::uint32_t characters, std::span<const std::uint32_t> row, Act act) const {
    const std::span<const std::uint32_t> shorter = row_of(std::min(characters, kRows - 1));
    each_bit([&](std::size_t i) { return row[i] & ~shorter[i]; }, act);
  }
  // Calls act(id) for each token of `row` that stays inside a string and has from 1 to kRows - 1 characters: so many.
  template <class Act>
  void each_of_length(std::uint32_t characters, std::span<const std::uint32_t> row, Act act) const {
    const std::span<const std::uint32_t> here = row_of(characters), shorter = row_of(characters - 1);
    each_bit([&](std::size_t i) { return row[i] & here[i] & ~shorter[i]; }, act);
  }

  // Calls act(id) for each token of `row` that stays inside a string and has `characters` characters, from 1 on, all of
  // them whole, until a call returns true. Returns whether one did.
  template <class Act>
  bool any_whole(std::uint32_t characters, std::span<const std::uint32_t> row, Act act) const {
    if (characters < kRows) {
      const std::span<const std::uint32_t> here = row_of(characters), shorter = row_of(characters - 1);
      return any_bit([&](std::size_t i) { return row[i] & here[i] & ~shorter[i] & ~is_open_[i]; }, act);
    }
    const auto [first, last] = std::ranges::equal_range(long_, characters, std::greater<>{}, &Closing::characters);
    return std::any_of(first, last, [&](const Closing& each) {
      const std::uint32_t word = each.id >> 5;
      return ((row[word] & ~is_open_[word]) >> (each.id & 31) & 1) != 0 && act(each.id);
    });
  }
  // The largest number of characters of a token that stays inside.
  std::uint32_t most_characters() const { return long_.empty() ? kRows - 1 : long_[0].characters; }

  // A number of characters that few tokens reach.
  static constexpr std::uint32_t kRows = 32;
  // Whether a token contains a backslash.
  bool has_escape(std::uint32_t id) const { return (escapes_[id >> 5] >> (id & 31) & 1) != 0; }

 private:
  std::span<const std::uint32_t> row_of(std::uint32_t most) const {
    return std::span(rows_).subspan(most * word_count_, word_count_);
  }
  template <class Word, class Act>
  bool any_bit(Word word_at, Act act) const {
    for (std::size_t i = 0; i < word_count_; ++i) {
      for (std::uint32_t word = word_at(i); word != 0; word &= word - 1) {
        if (act(static_cast<std::uint32_t>(i * 32) + static_cast<std::uint32_t>(std::countr_zero(word)))) return true;
      }
    }
    return false;
  }
  template <class Word, class Act>
  void each_bit(Word word_at, Act act) const {
    any_bit(word_at, [&act](std::uint32_t id) {
      act(id);
      return false;
    });
  }
  using PartNumbers = std::unordered_map<std::string_view, std::uint32_t>;  // by the bytes of the part
  void add(std::uint32_t id, std::string_view text, PartNumbers& parts);
  void finish();

  std::size_t word_count_;
  std::vector<std::uint32_t> rows_;     // for each bound below kRows
  std::vector<std::uint32_t> escapes_;  // the tokens that contain a backslash
  std::vector<std::uint32_t> is_open_;  // the tokens of open_
  std::vector<Open> open_;
  std::vector<Closing> closing_;
  std::vector<Closing> long_;  // the tokens of kRows characters or more, the longest first; none of them closes
};

}  // namespace detent
