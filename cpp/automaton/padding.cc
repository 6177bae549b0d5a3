#include "automaton/padding.h"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include "base/utf8_position.h"
#include "expr/parts.h"

namespace detent {
namespace {

constexpr std::size_t kMaxFamilies = 64;
constexpr std::size_t kMaxSequences = 2'048;  // of a family
constexpr std::size_t kMaxInCharacters = 16;  // sequences inside characters, for each one between characters
constexpr std::uint32_t kMaxPadding = 512;    // bytes
constexpr std::size_t kMaxTried = 4;          // byte classes

}  // namespace

std::optional<Paddings::Padding> Paddings::find(const Sequences& excluded, const ByteSet& bytes) {
  meter_.step(std::ssize(excluded) / 4);
  const auto counts = [this](ExprId each) { return exprs_[each].largest_count > kMaxContinuationBytes; };
  if (!std::ranges::any_of(excluded, counts)) return std::nullopt;
  return family_of(excluded, bytes).padding;
}

// Constructors write x y | x z as x (y | z). Here each sequence is one by itself, so that different unions share it.
bool Paddings::add(ExprSet& exprs, ExprId texts, Sequences& sequences, int depth) {
  constexpr int kMaxDepth = 64;
  if (texts == exprs.sigma_star() || texts == exprs.all_texts()) return false;
  if (texts == ExprSet::kEmpty) return true;
  if (depth < kMaxDepth && exprs[texts].op == Op::union_of) {
    return std::ranges::all_of(operands_of(exprs, texts, Op::union_of),
                               [&](ExprId each) { return add(exprs, each, sequences, depth + 1); });
  }
  if (depth == kMaxDepth || exprs[texts].op != Op::concat) {
    sequences.push_back(texts);
    return true;
  }
  std::vector<ExprId> elements;
  ExprId rest = texts;
  for (; exprs[rest].op == Op::concat; rest = exprs[rest].second()) elements.push_back(exprs[rest].first());
  if (exprs[rest].op != Op::union_of) {
    sequences.push_back(texts);
    return true;
  }
  Sequences tails;
  if (!add(exprs, rest, tails, depth + 1)) tails = {rest};
  for (ExprId tail : tails) sequences.push_back(concat_elements(exprs, elements, tail));
  return true;
}

const Paddings::Family& Paddings::family_of(const Sequences& sequences, const ByteSet& bytes) {
  const Family* found = nullptr;
  for (ExprId each : sequences) {
    const auto known = family_of_.find(each.value);
    const bool is_other = known == family_of_.end() || (found && known->second != found);
    if (is_other || known->second->bytes != bytes) return find_family(sequences, bytes);
    found = known->second;
  }
  return *found;
}

const Paddings::Family& Paddings::find_family(const Sequences& sequences, const ByteSet& bytes) {
  if (families_.size() == kMaxFamilies) {
    families_.clear();
    family_of_.clear();
  }
  const ByteSet ascii = ByteSet::range(0, 0x7F), continuations = ByteSet::range(0x80, 0xBF);
  Family& family = families_.emplace_back();
  family.bytes = bytes;
  const ByteSet plain = bytes & ascii;
  ByteSet safe = plain;
  if (close(sequences, plain, kMaxSequences, family.all, safe)) {
    // Inside the characters of a class beyond ASCII, such as \w, there may be hundreds of sequences.
    Sequences wide;
    ByteSet wide_safe = bytes;
    const std::size_t most = kMaxInCharacters * (family.all.size() + 1);
    if (!bytes.is_subset_of(ascii) && close(sequences, bytes | continuations, most, wide, wide_safe)) {
      family.all = std::move(wide);
      safe = wide_safe;
    }
    family.padding = find_padding(family, safe);
  }
  for (ExprId each : family.all) family_of_[each.value] = &family;
  return family;
}

bool Paddings::close(const Sequences& sequences, const ByteSet& bytes, std::size_t most, Sequences& all,
                     ByteSet& safe) {
  const auto& class_of = derivatives_.class_of();
  std::unordered_set<std::uint32_t> seen;
  Sequences open = sequences;
  while (!open.empty()) {
    const ExprId each = open.back();
    open.pop_back();
    if (!seen.insert(each.value).second) continue;
    if (all.size() == most) return false;
    all.push_back(each);
    const ExprId* row = derivatives_.row(each);
    meter_.step(derivatives_.class_count() / 8);
    ExprId last = ExprSet::kEmpty;
    bool is_safe = true;
    bytes.each([&](std::uint8_t byte) {
      const ExprId next = row[class_of[byte]];
      if (next == ExprSet::kEmpty) return;
      if (std::exchange(last, next) != next) is_safe = add(next, open);
      if (is_safe) return;
      safe.remove(byte);
      if (byte >= 0x80) safe = safe & ByteSet::range(0, 0x7F);  // characters share their bytes
    });
  }
  return true;
}

std::optional<Paddings::Padding> Paddings::find_padding(const Family& family, const ByteSet& safe) {
  std::vector<std::pair<int, std::uint8_t>> classes(derivatives_.class_count());  // bytes of each, and one of them
  (safe & ByteSet::range(0x20, 0x7E)).each([&](std::uint8_t byte) {
    auto& [count, first] = classes[derivatives_.class_of()[byte]];
    if (count++ == 0) first = byte;
  });
  std::erase_if(classes, [](const auto& each) { return each.first == 0; });
  std::ranges::sort(classes, std::greater<>());
  if (classes.size() > kMaxTried) classes.resize(kMaxTried);
  std::optional<Padding> best;
  std::size_t fewest = family.all.size();
  for (const auto& [count, byte] : classes) {
    Sequences rest;
    const std::uint32_t length = pad(family, byte, rest);
    if (rest.size() >= fewest) continue;
    fewest = rest.size();
    best = {byte, length, exprs_.complement(exprs_.union_of(std::move(rest))), safe};
  }
  return best;
}

std::uint32_t Paddings::pad(const Family& family, std::uint8_t byte, Sequences& rest) {
  const std::uint8_t byte_class = derivatives_.class_of()[byte];
  rest = family.all;
  for (std::uint32_t length = 0; length < kMaxPadding; ++length) {
    Sequences after;
    for (ExprId each : rest) add(derivatives_.row(each)[byte_class], after);
    meter_.step(std::ssize(rest) / 4);
    std::ranges::sort(after);
    after.erase(std::ranges::unique(after).begin(), after.end());
    if (after == rest) return length;
    rest = std::move(after);
  }
  return kMaxPadding;
}

}  // namespace detent
