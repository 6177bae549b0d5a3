// StringLengths: how many characters each token adds to a JSON string.
//
// The mask inside a string of at most n characters is the mask of an unbounded string without the tokens of more than n
// characters. So it needs no walk over the trie. An escape is one character, and so is an escaped pair of surrogates.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace detent {

class StringLengths {
 public:
  // Reads the tokens with these ids, whose bytes are bytes_of(id). Cost: linear in their bytes, some 2 ms for 128,000
  // tokens.
  template <class BytesOf>
  StringLengths(std::span<const std::uint32_t> ids, std::uint32_t size, BytesOf bytes_of)
      : word_count_((size + 31) / 32), rows_(kRows * word_count_), escapes_(word_count_) {
    for (std::uint32_t id : ids) add(id, bytes_of(id));
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

  // A number of characters that few tokens reach.
  static constexpr std::uint32_t kRows = 32;
  // Whether a token contains a backslash.
  bool has_escape(std::uint32_t id) const { return (escapes_[id >> 5] >> (id & 31) & 1) != 0; }

 private:
  std::span<const std::uint32_t> row_of(std::uint32_t most) const {
    return std::span(rows_).subspan(most * word_count_, word_count_);
  }
  template <class Word, class Act>
  void each_bit(Word word_at, Act act) const {
    for (std::size_t i = 0; i < word_count_; ++i) {
      for (std::uint32_t word = word_at(i); word != 0; word &= word - 1) {
        act(static_cast<std::uint32_t>(i * 32) + static_cast<std::uint32_t>(std::countr_zero(word)));
      }
    }
  }
  void add(std::uint32_t id, std::string_view text);
  void finish();

  std::size_t word_count_;
  std::vector<std::uint32_t> rows_;     // for each bound below kRows
  std::vector<std::uint32_t> escapes_;  // the tokens that contain a backslash
  std::vector<Closing> closing_;
  std::vector<Closing> long_;  // the tokens of kRows characters or more, the longest first; none of them closes
};

}  // namespace detent
