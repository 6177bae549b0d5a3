// The arena of an ExprSet: hash consing, and the expressions without operands.
#include "expr/expr_set.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "expr/utf8.h"

namespace detent {
namespace {

constexpr std::size_t kTextChunk = 32;  // bytes of a literal in one expression

// The bytes that a JSON string never escapes.
ByteSet unescaped_bytes() {
  ByteSet bytes = ByteSet::range(0x20, 0x7E) | ByteSet::range(0x80, 0xFF);
  bytes.remove('"');
  bytes.remove('\\');
  return bytes;
}

bool writes_json_strings(const ByteSet& bytes) {
  return ByteSet::range(0x20, 0x7E).is_subset_of(bytes) && ByteSet::range(0x80, 0xBF).is_subset_of(bytes);
}

}  // namespace

ExprSet::ExprSet(Meter& meter) : meter_(meter), set_table_(kFirstSetTable), item_texts_(meter) {
  Expr empty;
  empty.nonempty = empty.exact_length = true;
  empty.max_length = 0;
  empty.is_text = empty.in_alphabet = empty.only_unescaped = empty.needs_no_escapes = true;
  set_only_token_bytes(empty, true);
  exprs_.emplace_back() = empty;
  Expr epsilon;
  epsilon.op = Op::epsilon;
  epsilon.nullable = epsilon.nonempty = epsilon.exact_length = true;
  epsilon.max_length = 0;
  epsilon.is_text = epsilon.in_alphabet = epsilon.only_unescaped = epsilon.needs_no_escapes = true;
  set_only_token_bytes(epsilon, true);
  epsilon.hash = mix(Hash128{}, static_cast<std::uint64_t>(Op::epsilon));
  find_or_add(epsilon, {});
  sigma_star_ = alphabet_star_ = repeat(bytes(ByteSet::all()), 0, kUnbounded);
}

// The constructor has already built sigma star and its byte set, so their flags are set again here.
void ExprSet::set_alphabet(const ByteSet& alphabet, const ByteSet& token_bytes) {
  alphabet_ = alphabet;
  token_bytes_ = token_bytes;
  for (ExprId id : {sigma_star_, exprs_[sigma_star_.value].part()}) {
    exprs_[id.value].in_alphabet = alphabet == ByteSet::all();
    exprs_[id.value].only_token_bytes = token_bytes == ByteSet::all();
  }
  alphabet_star_ = repeat(bytes(alphabet), 0, kUnbounded);
  has_json_escapes_ = writes_json_strings(alphabet);
  has_token_escapes_ = writes_json_strings(token_bytes);
}

void ExprSet::set_only_token_bytes(Expr& expr, bool only_token_bytes) {
  expr.only_token_bytes = only_token_bytes;
  expr.completes_by_bytes |= only_token_bytes;
  expr.residuals_complete_by_bytes |= only_token_bytes;
}

void ExprSet::inherit_flags(Expr& expr, const Expr& part) {
  expr.has_lookbehind |= part.has_lookbehind;
  expr.has_lookbehind_end |= part.has_lookbehind_end;
  expr.has_rule |= part.has_rule;
  expr.has_guard |= part.has_guard;
  expr.has_strict_guard |= part.has_strict_guard;
  expr.has_open_item |= part.has_open_item;
  expr.has_closed_item |= part.has_closed_item;
}

bool ExprSet::same(const Expr& known, const Expr& expr, std::span<const ExprId> operands) const {
  if (!(known.hash == expr.hash) || known.op != expr.op || known.b_ != expr.b_ || known.c_ != expr.c_) return false;
  if (known.op == Op::text) return texts_.compare(known.a_, known.b_, texts_, expr.a_, expr.b_) == 0;
  if (operands.empty()) return known.a_ == expr.a_;
  return std::equal(operands.begin(), operands.end(), &operands_[known.a_]);
}

ExprId ExprSet::find_or_add(const Expr& expr, std::span<const ExprId> operands) {
  const auto hash = static_cast<std::uint32_t>(expr.hash.low);
  const auto is_same = [&](std::uint32_t id) { return same(exprs_[id], expr, operands); };
  if (const std::uint32_t known = table_.find(hash, is_same)) return ExprId{known};
  if (!table_.has_room(exprs_.size())) {
    meter_.allocate(static_cast<std::int64_t>(table_.capacity() * sizeof(ExprTable::Entry)));
    table_.grow();
  }
  meter_.step();
  meter_.allocate(static_cast<std::int64_t>(sizeof(Expr) + operands.size() * sizeof(ExprId)));
  if (exprs_.size() >= UINT32_MAX / 2) throw Error(ErrorKind::limit, "expressions", exprs_.size(), UINT32_MAX / 2);
  const ExprId id{static_cast<std::uint32_t>(exprs_.size())};
  Expr& added = exprs_.emplace_back();
  added = expr;
  if (!operands.empty()) added.a_ = static_cast<std::uint32_t>(operands_.append(operands));
  table_.insert({hash, id.value});
  return id;
}

// The slot of a set in the table: 0 where the set is new.
std::uint32_t& ExprSet::set_slot(const ByteSet& set) {
  std::uint64_t key = 0;
  for (std::uint64_t word : set.words()) key = mix(key + word, 0x5bd1e995);
  const std::size_t mask = set_table_.size() - 1;
  std::size_t slot = key & mask;
  while (set_table_[slot] && sets_[set_table_[slot] - 1] != set) slot = (slot + 1) & mask;
  return set_table_[slot];
}

std::uint32_t ExprSet::set_index(const ByteSet& set) {
  if (const std::uint32_t known = set_slot(set)) return known - 1;
  meter_.allocate(sizeof(ByteSet) + 48);
  sets_.push_back(set);
  if (sets_.size() * 2 > set_table_.size()) {
    set_table_.assign(set_table_.size() * 2, 0);
    for (std::uint32_t i = 0; i + 1 < sets_.size(); ++i) set_slot(sets_[i]) = i + 1;
  }
  set_slot(set) = static_cast<std::uint32_t>(sets_.size());
  return static_cast<std::uint32_t>(sets_.size()) - 1;
}

ExprId ExprSet::bytes(const ByteSet& set) {
  if (set.empty()) return kEmpty;
  Expr expr;
  expr.op = Op::bytes;
  expr.nonempty = expr.exact_length = true;
  expr.min_length = expr.max_completion_bound = expr.max_length = 1;
  expr.is_text = set.is_subset_of(ByteSet::range(0, 0x7F));
  expr.in_alphabet = set.is_subset_of(alphabet_);
  const ByteSet unescaped = unescaped_bytes() & alphabet_;
  expr.only_unescaped = set.is_subset_of(unescaped);
  expr.needs_no_escapes = !(set & unescaped).empty();
  expr.completes_by_bytes = !(set & token_bytes_).empty();
  expr.residuals_complete_by_bytes = true;
  set_only_token_bytes(expr, set.is_subset_of(token_bytes_));
  expr.a_ = set_index(set);
  expr.hash = mix(Hash128{}, static_cast<std::uint64_t>(Op::bytes));
  for (std::uint64_t word : set.words()) expr.hash = mix(expr.hash, word);
  return find_or_add(expr, {});
}

ExprId ExprSet::literal(std::string_view literal) {
  if (literal.empty()) return kEpsilon;
  if (texts_.size() + literal.size() > UINT32_MAX) throw Error(ErrorKind::limit, "expressions", UINT32_MAX, UINT32_MAX);
  meter_.allocate(static_cast<std::int64_t>(literal.size()));
  const auto begin = static_cast<std::uint32_t>(texts_.size());
  texts_ += literal;
  // In chunks: a residual of a long literal then hashes at most one chunk.
  ExprId tail = kEpsilon;
  for (std::size_t at = (literal.size() - 1) / kTextChunk * kTextChunk;; at -= kTextChunk) {
    const std::size_t length = std::min(kTextChunk, literal.size() - at);
    tail = concat(text(begin + static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(length)), tail);
    if (at == 0) return tail;
  }
}

ExprId ExprSet::text(std::uint32_t begin, std::uint32_t length) {
  if (length == 1) return bytes(ByteSet::of(static_cast<std::uint8_t>(texts_[begin])));
  Expr expr;
  expr.op = Op::text;
  expr.nonempty = expr.exact_length = true;
  expr.a_ = begin;
  expr.b_ = expr.min_length = expr.max_completion_bound = expr.max_length = length;
  expr.is_text = is_utf8(std::string_view(texts_).substr(begin, length));
  const auto are_in = [&](const ByteSet& set, std::uint32_t first) {
    return std::all_of(texts_.begin() + first, texts_.begin() + begin + length,
                       [&set](char byte) { return set.contains(static_cast<std::uint8_t>(byte)); });
  };
  expr.in_alphabet = are_in(alphabet_, begin);
  expr.only_unescaped = expr.needs_no_escapes = are_in(unescaped_bytes() & alphabet_, begin);
  expr.residuals_complete_by_bytes = are_in(token_bytes_, begin + 1);
  set_only_token_bytes(expr, are_in(token_bytes_, begin));
  expr.hash = mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::text)), length);
  for (std::size_t i = 0; i < length; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, texts_.data() + begin + i, std::min<std::size_t>(8, length - i));
    expr.hash = mix(expr.hash, word);
  }
  return find_or_add(expr, {});
}

ExprId ExprSet::drop_first_byte(ExprId id) { return text(exprs_[id.value].a_ + 1, exprs_[id.value].b_ - 1); }

ExprId ExprSet::rule(const Expr& traits) {
  Expr expr = traits;
  expr.op = Op::rule;
  expr.has_rule = true;
  expr.is_text = false;  // what the definition contains may change until it is defined
  expr.a_ = static_cast<std::uint32_t>(definitions_.size());
  meter_.allocate(sizeof(ExprId));
  definitions_.push_back(kEmpty);
  return find_or_add(expr, {});
}

ExprId ExprSet::loop(bool nullable, bool has_lookbehind, bool has_lookbehind_end) {
  // An undefined loop has no structure to hash: it gets a number that is unique in the process.
  static std::atomic<std::uint64_t> next{0};
  Expr expr;
  expr.op = Op::loop;
  expr.nullable = nullable;
  expr.has_lookbehind = has_lookbehind;
  expr.has_lookbehind_end = has_lookbehind_end;
  expr.a_ = static_cast<std::uint32_t>(definitions_.size());
  expr.hash = mix(mix(Hash128{}, static_cast<std::uint64_t>(Op::loop)), next.fetch_add(1));
  definitions_.push_back(kEmpty);
  return find_or_add(expr, {});
}

}  // namespace detent
