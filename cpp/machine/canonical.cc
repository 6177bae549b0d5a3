#include "machine/canonical.h"

#include <algorithm>

#include "base/error.h"
#include "base/fork_guard.h"

namespace detent {

Canonical::Canonical(Automaton& automaton, Masks& masks, std::shared_ptr<TokenSteps> steps, const Limits& limits,
                     std::shared_ptr<const CancelFlag> cancel)
    : automaton_(automaton), masks_(masks), steps_(std::move(steps)), meter_(limits), cancel_(std::move(cancel)) {
  const std::uint32_t root = steps_->encoder().has_wholes() ? Encoder::kRoot : Encoder::kOff;
  intern({{border(Split::kFresh, true), root}});
}

Canonical::SetId Canonical::intern(std::vector<Where> set) {
  std::ranges::sort(set);
  set.erase(std::unique(set.begin(), set.end()), set.end());
  std::uint64_t hash = set.size();
  for (const Where& where : set) hash = mix(hash, std::uint64_t{where.place} << 32 | where.whole);
  std::vector<SetId>& alike = set_ids_[hash];
  for (SetId known : alike) {
    if (sets_[known] == set) return known;
  }
  meter_.allocate(static_cast<std::int64_t>(set.size() * sizeof(Where)) + 64);
  alike.push_back(static_cast<SetId>(sets_.size()));
  sets_.push_back(std::move(set));
  return alike.back();
}

Canonical::Context Canonical::after(ExprId state, std::span<const std::uint32_t> prompt) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart(cancel_);
  const std::vector<Where> fresh = sets_[kFresh];
  std::vector<Where> set = fresh;
  std::uint32_t last = kNoToken;
  for (std::uint32_t token : prompt) {
    const bool is_text = steps_->vocabulary().is_text(token);
    std::vector<Where> there = is_text ? behind(set, last, token) : std::vector<Where>{};
    if (there.empty() && is_text && last != kNoToken) there = behind(fresh, kNoToken, token);
    meter_.step(static_cast<std::int64_t>(set.size()) + 1);
    last = there.empty() ? kNoToken : token;
    set = there.empty() ? fresh : std::move(there);
  }
  if (last == kNoToken) return {kNoToken, may_mark(state, Split::kFresh) ? kFresh : kRefused};
  std::erase_if(set, [&](const Where& where) { return live(Node{state, where.place, where.whole, last}) == kNever; });
  return {last, set.empty() ? kRefused : intern(std::move(set))};
}

bool Canonical::accepting(ExprId state, const Context& at) {
  if (!automaton_.accepting(state)) return false;
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  const Encoder& encoder = steps_->encoder();
  return std::ranges::any_of(sets_[at.set], [&](const Where& where) {
    const TokenSteps::Place place = TokenSteps::place(where.place);
    if (place.node != 0 || !encoder.split().may_end(place.state)) return false;
    return at.last == kNoToken || encoder.whole_only(at.last) || encoder.whole_at(where.whole) == kNoToken;
  });
}

bool Canonical::fill(ExprId state, const Context& at, std::uint32_t* row, std::uint32_t tokens_after) {
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
    if (mask->farthest() <= tokens_after) {
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
    if (!may_go_on || tails(state, where.place)[0].kind == Tail::Kind::none) continue;
    add(where);
    any = true;
  }
  if (any && !encoder.is_byte_piece(at.last)) encoder.pairs().forbid_after(at.last, row);
  for (const Where& where : set) {
    const TokenSteps::Place place = TokenSteps::place(where.place);
    const bool ends = at.last == kNoToken || encoder.whole_only(at.last) || encoder.whole_at(where.whole) == kNoToken;
    if (place.node != 0 || !ends || !has_text(state, border(place.state, true))) continue;
    add({border(place.state, true), root});
  }
  return taken_away;
}

std::vector<Canonical::Where> Canonical::behind(const std::vector<Where>& set, std::uint32_t last, std::uint32_t token) const {
  const Encoder& encoder = steps_->encoder();
  const std::uint32_t root = encoder.has_wholes() ? Encoder::kRoot : Encoder::kOff;
  std::vector<Where> found;
  const auto go = [&](const Where& where) {
    const TokenSteps::Table& table = steps_->table(where.place);
    const std::uint16_t target = table.target_of(token);
    if (target != TokenSteps::Table::kRefused) found.push_back({table.targets[target], whole_behind(where.whole, token)});
  };
  const bool fits = last != kNoToken && encoder.follows(last, token);
  for (const Where& where : set) {
    const TokenSteps::Place place = TokenSteps::place(where.place);
    if (fits) go(where);
    const bool ends = last == kNoToken || encoder.whole_only(last) || encoder.whole_at(where.whole) == kNoToken;
    if (place.node == 0 && ends) go({border(place.state, true), root});
  }
  return found;
}

Canonical::SetId Canonical::advance(ExprId next, const Context& at, std::uint32_t token) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart(cancel_);
  std::vector<Where> found = behind(sets_[at.set], at.last, token);
  std::erase_if(found, [&](const Where& where) { return live(Node{next, where.place, where.whole, token}) == kNever; });
  return found.empty() ? kRefused : intern(std::move(found));
}

// As in `Masks`, what is found of a beginning serves all states that begin so, of all languages.
Canonical::Inside Canonical::inside(ExprId beginning, PlaceId from) {
  const Vocabulary& vocabulary = steps_->vocabulary();
  const Hash128 own = mix(mix(mix(automaton_.hash(beginning), steps_->salt()), from), 0x696e);
  const Hash128 key_of_unsure = mix(own, 1);
  constexpr auto kind = MaskCache::Kind::fragment;
  Inside found{vocabulary.cache().find(own, kind), vocabulary.cache().find(key_of_unsure, kind)};
  if (found.sure && found.unsure) return found;
  const TokenSteps::Table& table = steps_->table(from);
  std::unordered_map<Id, std::uint32_t> lengths;  // of straight ends, by state and marks, or kNever
  std::vector<std::uint32_t> unsure;
  MaskBuilder builder(vocabulary.word_count());
  const std::int64_t visited = walk(beginning, [&](std::uint32_t token, ExprId next) {
    const std::uint16_t target = table.target_of(token);
    if (target == TokenSteps::Table::kRefused) return;
    const TokenSteps::Place place = TokenSteps::place(table.targets[target]);
    const auto [length, is_new] = lengths.try_emplace(id(next, table.targets[target]), kNever);
    if (is_new && place.node == 0 && ends_straight(next, place.state)) length->second = straight(next);
    if (length->second == kNever) {
      unsure.push_back(token);
    } else {
      builder.allow(token);
      builder.reach(length->second);
    }
  });
  meter_.step(visited / 8 + 1);
  found.sure = builder.finish();
  MaskBuilder others(vocabulary.word_count());
  for (std::uint32_t token : unsure) others.allow(token);
  found.unsure = others.finish();
  vocabulary.cache().insert(own, found.sure, kind);
  vocabulary.cache().insert(key_of_unsure, found.unsure, kind);
  return found;
}

std::shared_ptr<const Mask> Canonical::mask_of(ExprId state, const Where& where) {
  const Vocabulary& vocabulary = steps_->vocabulary();
  const std::uint64_t from = std::uint64_t{where.place} << 32 | where.whole;
  const Hash128 key = mix(mix(automaton_.hash(state), steps_->salt()), from);
  if (std::shared_ptr<const Mask> known = vocabulary.cache().find(key)) return known;
  const TokenSteps::Table& table = steps_->table(where.place);
  const TokenSteps::Place start = TokenSteps::place(where.place);
  const bool begins_chunk = start.node == 0 && start.marked;
  constexpr std::uint32_t kUnknown = kNever - 1;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> verdicts;  // by state and target: how far an end is at a mark
  ExprId present = ExprSet::kEmpty;
  std::vector<std::uint32_t>* of_present = nullptr;
  const auto length_behind = [&](std::uint32_t token, ExprId next) {
    const std::uint16_t target = table.target_of(token);
    if (target == TokenSteps::Table::kRefused) return kNever;
    const PlaceId place = table.targets[target];
    if (next != present) {
      present = next;
      const auto [known, is_new] = verdicts.try_emplace(next.value);
      if (is_new) known->second.assign(table.targets.size(), kUnknown);
      of_present = &known->second;
    }
    std::uint32_t& verdict = (*of_present)[target];
    if (verdict == kUnknown) {
      const TokenSteps::Place there = TokenSteps::place(place);
      const bool ends = there.node == 0 && may_mark(next, there.state);
      verdict = ends ? std::min(reach(next, there.state), kUnknown - 1) : kNever;
    }
    // A token that begins a chunk is all of it so far; one that merging gives is no chunk that stays whole.
    const bool known = verdict != kNever && (begins_chunk || where.whole == Encoder::kOff);
    return known ? verdict : live(Node{next, place, whole_behind(where.whole, token), token});
  };
  const auto behind = [&](std::uint32_t token) {
    ExprId next = state;
    for (char byte : vocabulary.bytes(token)) next = automaton_.row(next)[automaton_.class_of()[static_cast<std::uint8_t>(byte)]];
    return next;
  };

  // Before a mask is built, which a thread does one at a time, the parts that it is built from.
  Automaton::Beginnings beginnings{{}, state};
  if (!vocabulary.spelling() && !steps_->encoder().one_chunk()) beginnings = automaton_.beginnings(state);
  Inside inside_first;
  std::shared_ptr<const Crossing> crossing;
  std::vector<std::uint32_t> refused;
  std::uint32_t rest_length = kNever;
  if (beginnings.pairs.size() == 1) rest_length = straight(beginnings.pairs[0].second);
  if (rest_length != kNever) {
    inside_first = inside(beginnings.pairs[0].first, where.place);
    crossing = masks_.fragment(beginnings.pairs[0].first)->crossing();
    if (!begins_chunk) {
      std::vector<std::uint32_t> bits(vocabulary.word_count());
      inside_first.sure->add_to(bits.data());
      for (std::uint32_t token : steps_->completing(where.whole)) {
        if ((bits[token >> 5] >> (token & 31) & 1) && length_behind(token, behind(token)) == kNever) refused.push_back(token);
      }
    }
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> others;  // tokens, and how far an end is
  const auto visit = [&](std::uint32_t token, ExprId next) {
    if (const std::uint32_t length = length_behind(token, next); length != kNever) others.emplace_back(token, length);
  };
  if (rest_length == kNever) {
    meter_.step(walk(state, visit) / 8 + 1);
  } else {
    // A token may be one of several of these: what counts is where it leads from the whole state.
    const auto visit_behind = [&](std::uint32_t token, ExprId) { visit(token, behind(token)); };
    inside_first.unsure->each([&](std::uint32_t token) { visit(token, behind(token)); });
    masks_.walk(*crossing, beginnings.pairs[0].second, visit_behind);
    if (beginnings.rest != ExprSet::kEmpty) meter_.step(walk(beginnings.rest, visit_behind) / 8 + 1);
  }

  MaskBuilder builder(vocabulary.word_count());
  if (refused.empty() && inside_first.sure) {
    builder.add(inside_first.sure);
  } else if (inside_first.sure) {
    builder.copy_from(*inside_first.sure);
    for (std::uint32_t token : refused) builder.refuse(token);
  }
  if (inside_first.sure) builder.reach(inside_first.sure->farthest() + rest_length);
  for (const auto& [token, length] : others) {
    builder.allow(token);
    builder.reach(length);
  }
  std::shared_ptr<const Mask> mask = builder.finish();
  vocabulary.cache().insert(key, mask);
  return mask;
}

void Canonical::add_within(const Mask& mask, ExprId state, const Where& where, std::uint32_t tokens_after,
                           std::uint32_t* row) {
  const TokenSteps::Table& table = steps_->table(where.place);
  std::vector<std::uint32_t> bits(steps_->vocabulary().word_count());
  mask.add_to(bits.data());
  std::uint32_t worst = 0;
  const std::int64_t visited = walk(state, [&](std::uint32_t token, ExprId next) {
    if ((bits[token >> 5] >> (token & 31) & 1) == 0) return;
    const PlaceId place = table.targets[table.target_of(token)];
    const std::uint32_t length = end_length(Node{next, place, whole_behind(where.whole, token), token});
    worst = std::max(worst, length);
    if (length <= tokens_after) row[token >> 5] |= 1u << (token & 31);
  });
  meter_.step(visited / 8 + 1);
  meter_.allocate(64);
  worst_[Node{state, where.place, where.whole, kNoToken}] = worst;
}

}  // namespace detent
