#include "runtime/canonical_constraint.h"

#include <algorithm>

#include "base/error.h"
#include "base/fork_guard.h"

namespace detent {

CanonicalConstraint::CanonicalConstraint(Automaton& automaton, MaskComputer& masks,
                                         std::shared_ptr<PretokenTransitions> steps, const Limits& limits,
                                         std::shared_ptr<const CancelFlag> cancel)
    : automaton_(automaton), masks_(masks), steps_(std::move(steps)), meter_(limits), cancel_(std::move(cancel)) {
  const std::uint32_t root = steps_->encoder().has_wholes() ? Encoder::kRoot : Encoder::kOff;
  intern({{border(PreTokenizer::kTextStart, true), root}});
}

CanonicalConstraint::PositionSetId CanonicalConstraint::intern(std::vector<Where> set) {
  std::ranges::sort(set);
  set.erase(std::unique(set.begin(), set.end()), set.end());
  std::uint64_t hash = set.size();
  for (const Where& where : set) hash = mix(hash, std::uint64_t{where.place} << 32 | where.whole);
  std::vector<PositionSetId>& alike = set_ids_[hash];
  for (PositionSetId known : alike) {
    if (sets_[known] == set) return known;
  }
  meter_.allocate(static_cast<std::int64_t>(set.size() * sizeof(Where)) + 64);
  alike.push_back(static_cast<PositionSetId>(sets_.size()));
  sets_.push_back(std::move(set));
  return alike.back();
}

CanonicalConstraint::Context CanonicalConstraint::start(ExprId state, std::span<const std::uint32_t> prompt) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart(cancel_);
  const std::vector<Where> fresh = sets_[kTextStart];
  std::vector<Where> set = fresh;
  std::uint32_t last = kNoToken;
  for (std::uint32_t token : prompt) {
    const bool is_text = steps_->vocabulary().is_text(token) && !steps_->is_special(token);
    std::vector<Where> there = is_text ? behind(set, last, token) : std::vector<Where>{};
    if (there.empty() && is_text && last != kNoToken) there = behind(fresh, kNoToken, token);
    meter_.step(static_cast<std::int64_t>(set.size()) + 1);
    last = there.empty() ? kNoToken : token;
    set = there.empty() ? fresh : std::move(there);
  }
  if (last == kNoToken) return {kNoToken, may_mark(state, PreTokenizer::kTextStart) ? kTextStart : kRefused};
  std::erase_if(set,
                [&](const Where& where) { return live(Node{state, where.place, where.whole, last}) == kInfinite; });
  return {last, set.empty() ? kRefused : intern(std::move(set))};
}

bool CanonicalConstraint::accepting(ExprId state, const Context& at) {
  if (!automaton_.accepting(state)) return false;
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  const Encoder& encoder = steps_->encoder();
  return std::ranges::any_of(sets_[at.set], [&](const Where& where) {
    const PretokenTransitions::Place place = PretokenTransitions::place(where.place);
    if (place.node != 0 || !encoder.split().may_end(place.state)) return false;
    return at.last == kNoToken || encoder.whole_only(at.last) || encoder.whole_at(where.whole) == kNoToken;
  });
}

bool CanonicalConstraint::fill(ExprId state, const Context& at, std::uint32_t* row, std::uint32_t tokens_after) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart(cancel_);
  const Encoder& encoder = steps_->encoder();
  const std::size_t words = steps_->vocabulary().word_count();
  const std::uint32_t root = encoder.has_wholes() ? Encoder::kRoot : Encoder::kOff;
  const std::vector<Where> set = sets_[at.set];
  std::fill_n(row, words, 0u);
  bool any = false, taken_away = false;
  const auto add = [&](const Where& where) {
    const std::shared_ptr<const Mask> mask = mask_of(state, where);
    if (mask->max_completion_bound() <= tokens_after) {
      mask->add_to(row);
    } else {
      const auto worst = worst_.find(Node{state, where.place, where.whole, kNoToken});
      if (worst != worst_.end() && worst->second <= tokens_after) {
        mask->add_to(row);
      } else {
        add_within(*mask, state, where, tokens_after, row);
        taken_away = true;
      }
    }
  };
  // First what must fit to the last token, then what follows a mark.
  const bool may_go_on = at.last != kNoToken && encoder.merged(at.last);
  for (const Where& where : set) {
    if (!may_go_on || tails(state, where.place).texts[0].kind == Tail::Kind::none) continue;
    add(where);
    any = true;
  }
  if (any && !encoder.is_byte_piece(at.last)) encoder.adjacency().forbid_after(at.last, row);
  for (const Where& where : set) {
    const PretokenTransitions::Place place = PretokenTransitions::place(where.place);
    const bool ends = at.last == kNoToken || encoder.whole_only(at.last) || encoder.whole_at(where.whole) == kNoToken;
    if (place.node != 0 || !ends || !has_text(state, border(place.state, true))) continue;
    add({border(place.state, true), root});
  }
  return taken_away;
}

std::vector<CanonicalConstraint::Where> CanonicalConstraint::behind(const std::vector<Where>& set, std::uint32_t last,
                                                                    std::uint32_t token) const {
  const Encoder& encoder = steps_->encoder();
  const std::uint32_t root = encoder.has_wholes() ? Encoder::kRoot : Encoder::kOff;
  std::vector<Where> found;
  const auto go = [&](const Where& where) {
    const PretokenTransitions::Table& table = steps_->table(where.place);
    const std::uint16_t target = table.target_of(token);
    if (target != PretokenTransitions::Table::kRefused)
      found.push_back({table.targets[target], whole_behind(where.whole, token)});
  };
  const bool fits = last != kNoToken && encoder.follows(last, token);
  for (const Where& where : set) {
    const PretokenTransitions::Place place = PretokenTransitions::place(where.place);
    if (fits) go(where);
    const bool ends = last == kNoToken || encoder.whole_only(last) || encoder.whole_at(where.whole) == kNoToken;
    if (place.node == 0 && ends) go({border(place.state, true), root});
  }
  return found;
}

CanonicalConstraint::Context CanonicalConstraint::step(ExprId next, const Context& at, std::uint32_t token) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart(cancel_);
  std::vector<Where> found = behind(sets_[at.set], at.last, token);
  std::erase_if(found,
                [&](const Where& where) { return live(Node{next, where.place, where.whole, token}) == kInfinite; });
  if (found.empty()) return {token, kRefused};
  return steps_->is_special(token) ? Context{} : Context{token, intern(std::move(found))};
}

std::vector<std::uint32_t> CanonicalConstraint::encode(std::string_view text) const {
  if (!steps_->has_special()) return steps_->encoder().encode(text);
  std::vector<std::uint32_t> tokens;
  while (true) {
    const std::size_t begin = text.find(static_cast<char>(kFrameBound));
    const std::vector<std::uint32_t> before = steps_->encoder().encode(text.substr(0, begin));
    tokens.insert(tokens.end(), before.begin(), before.end());
    if (begin == std::string_view::npos) return tokens;
    const std::size_t end = text.find(static_cast<char>(kFrameBound), begin + 1) + 1;
    tokens.push_back(steps_->vocabulary().ids_with_bytes(text.substr(begin, end - begin))[0]);
    text.remove_prefix(end);
  }
}

}  // namespace detent
