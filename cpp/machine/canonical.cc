#include "machine/canonical.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "base/fork_guard.h"
#include "machine/walk.h"

namespace detent {

Canonical::Canonical(Automaton& automaton, std::shared_ptr<TokenSteps> steps, const Limits& limits,
                     std::shared_ptr<const CancelFlag> cancel)
    : automaton_(automaton), steps_(std::move(steps)), meter_(limits), cancel_(std::move(cancel)) {
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

bool Canonical::live(ExprId state, std::uint32_t last, SetId set) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart(cancel_);
  return last != kNoToken || set != kFresh || may_mark(state, Split::kFresh);
}

bool Canonical::accepting(ExprId state, std::uint32_t last, SetId set) {
  if (!automaton_.accepting(state)) return false;
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  const Encoder& encoder = steps_->encoder();
  return std::ranges::any_of(sets_[set], [&](const Where& where) {
    const TokenSteps::Place place = TokenSteps::place(where.place);
    if (place.node != 0 || !encoder.split().may_end(place.state)) return false;
    return last == kNoToken || encoder.whole_only(last) || encoder.whole_at(where.whole) == kNoToken;
  });
}

void Canonical::fill(ExprId state, std::uint32_t last, SetId set, std::uint32_t* row) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart(cancel_);
  const Encoder& encoder = steps_->encoder();
  const std::size_t words = steps_->vocabulary().word_count();
  const std::uint32_t root = encoder.has_wholes() ? Encoder::kRoot : Encoder::kOff;
  std::fill_n(row, words, 0u);
  // First what must fit to the last token, then what follows a mark.
  const bool may_go_on = last != kNoToken && encoder.merged(last);
  bool any = false;
  for (const Where& where : sets_[set]) {
    if (!may_go_on || tail(state, where.place).kind == Tail::Kind::none) continue;
    mask_of(state, where)->add_to(row);
    any = true;
  }
  if (any && !encoder.is_byte_piece(last)) encoder.pairs().forbid_after(last, row);
  for (const Where& where : sets_[set]) {
    const TokenSteps::Place place = TokenSteps::place(where.place);
    const bool ends = last == kNoToken || encoder.whole_only(last) || encoder.whole_at(where.whole) == kNoToken;
    if (place.node != 0 || !ends || !has_text(state, border(place.state, true))) continue;
    mask_of(state, {border(place.state, true), root})->add_to(row);
  }
}

Canonical::SetId Canonical::advance(ExprId next, std::uint32_t last, SetId set, std::uint32_t token) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart(cancel_);
  const Encoder& encoder = steps_->encoder();
  const std::uint32_t root = encoder.has_wholes() ? Encoder::kRoot : Encoder::kOff;
  std::vector<Where> behind;
  const auto go = [&](const Where& where) {
    const TokenSteps::Table& table = steps_->table(where.place);
    const std::uint16_t target = table.target_of[token];
    if (target == TokenSteps::Table::kRefused) return;
    const Where there{table.targets[target], whole_behind(where.whole, token)};
    if (live(Node{next, there.place, there.whole, token})) behind.push_back(there);
  };
  const bool fits = last != kNoToken && encoder.follows(last, token);
  for (const Where& where : std::vector<Where>(sets_[set])) {
    const TokenSteps::Place place = TokenSteps::place(where.place);
    if (fits) go(where);
    const bool ends = last == kNoToken || encoder.whole_only(last) || encoder.whole_at(where.whole) == kNoToken;
    if (place.node == 0 && ends) go({border(place.state, true), root});
  }
  return behind.empty() ? kRefused : intern(std::move(behind));
}

bool Canonical::may_mark(ExprId state, std::uint16_t marks) {
  if (automaton_.accepting(state) && steps_->encoder().split().may_end(marks)) return true;
  return has_text(state, border(marks, true));
}

// Shortest texts first, until what follows is free of what was marked.
bool Canonical::has_text(ExprId state, PlaceId place) {
  if (const auto known = texts_.find(id(state, place)); known != texts_.end()) return known->second;
  struct Open {
    ExprId state;
    PlaceId place;
    std::size_t from;
  };
  const Split& split = steps_->encoder().split();
  std::vector<Open> open{{state, place, 0}};
  std::unordered_set<Id> seen{id(state, place)};
  const auto succeed = [&](std::size_t at) {
    for (;; at = open[at].from) {
      texts_[id(open[at].state, open[at].place)] = true;
      if (at == 0) return true;
    }
  };
  for (std::size_t i = 0; i < open.size(); ++i) {
    const ExprId* row = automaton_.row(open[i].state);
    meter_.step(32);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ExprId next = row[automaton_.class_of()[byte]];
      if (next == ExprSet::kEmpty) continue;
      const PlaceId there = steps_->step(open[i].place, static_cast<std::uint8_t>(byte));
      if (there == TokenSteps::kDead) continue;
      const TokenSteps::Place at = TokenSteps::place(there);
      const auto look = [&](PlaceId from_there) {
        if (!seen.insert(id(next, from_there)).second) return false;
        const auto known = texts_.find(id(next, from_there));
        if (known != texts_.end()) return known->second;
        open.push_back({next, from_there, i});
        return false;
      };
      if (at.node != 0) {
        if (look(there)) return succeed(i);
        continue;
      }
      if (automaton_.accepting(next) && split.may_end(at.state)) return succeed(i);
      if (split.free(at.state) && goes_on(next)) return succeed(i);
      if (look(there) || look(border(at.state, true))) return succeed(i);
    }
  }
  meter_.allocate(static_cast<std::int64_t>(open.size()) * 48);
  for (const Open& each : open) texts_[id(each.state, each.place)] = false;
  return false;
}

std::pair<std::uint8_t, ExprId> Canonical::towards_end(ExprId state) {
  const auto [known, is_new] = towards_.try_emplace(state.value);
  if (!is_new) return known->second;
  const ExprId* row = automaton_.row(state);
  std::uint32_t least = UINT32_MAX;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const ExprId to = row[automaton_.class_of()[byte]];
    if (to == ExprSet::kEmpty || (byte > 0 && to == row[automaton_.class_of()[byte - 1]])) continue;
    const std::uint32_t length = automaton_.completion_length(to);
    if (length >= least) continue;
    least = length;
    known->second = {static_cast<std::uint8_t>(byte), to};
  }
  meter_.step(8);
  meter_.allocate(48);
  return known->second;
}

bool Canonical::goes_on(ExprId state) {
  if (const auto known = goes_on_.find(state.value); known != goes_on_.end()) return known->second;
  const Characters& characters = steps_->encoder().characters();
  // Mostly the way to the nearest end is a text.
  std::vector<ExprId> borders;
  std::uint16_t node = 0;
  for (ExprId at = state;;) {
    if (node == 0) {
      const auto known = goes_on_.find(at.value);
      if (automaton_.accepting(at) || (known != goes_on_.end() && known->second)) {
        for (ExprId border_state : borders) goes_on_[border_state.value] = true;
        return goes_on_[state.value] = true;
      }
      borders.push_back(at);
    } else if (automaton_.accepting(at)) {
      break;
    }
    const auto [byte, next] = towards_end(at);
    const Characters::Step step = characters.step(node, byte);
    if (step.dead) break;
    node = step.node;
    at = next;
  }
  // All ways.
  std::vector<std::pair<ExprId, std::uint16_t>> open{{state, 0}};
  std::unordered_set<Id> seen{id(state, 0)};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const ExprId* row = automaton_.row(open[i].first);
    meter_.step(32);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ExprId next = row[automaton_.class_of()[byte]];
      if (next == ExprSet::kEmpty) continue;
      const Characters::Step step = characters.step(open[i].second, static_cast<std::uint8_t>(byte));
      if (step.dead) continue;
      if (step.node == 0 && automaton_.accepting(next)) return goes_on_[state.value] = true;
      if (seen.insert(id(next, step.node)).second) open.push_back({next, step.node});
    }
  }
  for (const auto& [at, inside] : open) {
    if (inside == 0) goes_on_[at.value] = false;
  }
  return false;
}

const Canonical::Tail& Canonical::tail(ExprId state, PlaceId place) {
  if (const auto known = tails_.find(id(state, place)); known != tails_.end()) return known->second;
  Tail found = find_tail(state, place);
  meter_.allocate(static_cast<std::int64_t>(found.text.size()) + 96);
  return tails_[id(state, place)] = std::move(found);
}

Canonical::Tail Canonical::find_tail(ExprId state, PlaceId place) {
  return steps_->encoder().one_chunk() ? tail_to_end(state, place) : tail_of_chunk(state, place);
}

Canonical::Tail Canonical::tail_of_chunk(ExprId state, PlaceId place) {
  struct Open {
    ExprId state;
    PlaceId place;
    std::size_t from;
    std::uint8_t byte;
  };
  std::vector<Open> open{{state, place, 0, 0}};
  std::unordered_set<Id> seen{id(state, place)};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const ExprId* row = automaton_.row(open[i].state);
    meter_.step(32);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ExprId next = row[automaton_.class_of()[byte]];
      if (next == ExprSet::kEmpty) continue;
      const PlaceId there = steps_->step(open[i].place, static_cast<std::uint8_t>(byte));
      if (there == TokenSteps::kDead || !seen.insert(id(next, there)).second) continue;
      open.push_back({next, there, i, static_cast<std::uint8_t>(byte)});
      const TokenSteps::Place at = TokenSteps::place(there);
      if (at.node != 0 || !may_mark(next, at.state)) continue;
      Tail tail{Tail::Kind::found, kNoToken, {}};
      for (std::size_t k = open.size() - 1; k != 0; k = open[k].from) tail.text += static_cast<char>(open[k].byte);
      std::ranges::reverse(tail.text);
      tail.first = steps_->encoder().merge(tail.text).front();
      return tail;
    }
  }
  return {Tail::Kind::none, kNoToken, {}};
}

Canonical::Tail Canonical::tail_to_end(ExprId state, PlaceId place) {
  const Encoder& encoder = steps_->encoder();
  const TokenSteps::Place start = TokenSteps::place(place);
  Tail tail;
  PlaceId at = place;
  bool inside = start.node != 0;
  for (ExprId q = state; !automaton_.accepting(q) || TokenSteps::place(at).node != 0;) {
    if (automaton_.accepting(q)) return {};
    const auto [byte, next] = towards_end(q);
    if (inside && encoder.pieces()) {
      const Characters::Step step = encoder.characters().step(TokenSteps::place(at).node, byte);
      if (!step.dead && step.node == 0 && step.of_class != 1) return {};
      inside = step.node != 0;
    }
    at = steps_->step(at, byte);
    if (at == TokenSteps::kDead) return {};
    tail.text += static_cast<char>(byte);
    q = next;
  }
  if (tail.text.empty() || !encoder.split().may_end(TokenSteps::place(at).state)) return {};
  tail.kind = Tail::Kind::found;
  tail.first = start.node != 0 && encoder.pieces() ? encoder.byte_piece(static_cast<std::uint8_t>(tail.text[0]))
                                                   : encoder.merge(tail.text).front();
  return tail;
}

const std::vector<Canonical::Step>& Canonical::successors(ExprId state, PlaceId place) {
  const auto [known, is_new] = successors_.try_emplace(id(state, place));
  std::vector<Step>& found = known->second;
  if (!is_new) return found;
  const Vocabulary& vocabulary = steps_->vocabulary();
  const TokenSteps::Table& table = steps_->table(place);
  const auto add = [&](std::uint32_t token, ExprId next) {
    const std::uint16_t target = table.target_of[token];
    if (target != TokenSteps::Table::kRefused) found.push_back({token, next, table.targets[target]});
  };
  const std::int64_t visited = walk_tokens(
      vocabulary, automaton_, state,
      [&](const TrieNode& node, ExprId next) {
        if (node.token & TrieNode::kShared) {
          for (std::uint32_t token : vocabulary.shared_ids(node.token)) add(token, next);
        } else {
          add(node.token, next);
        }
      },
      [&](const Subtree& subtree, ExprId next) {
        for (std::uint32_t k = subtree.first; k < subtree.last; ++k) add(vocabulary.ids_in_order()[k], next);
      });
  found.shrink_to_fit();
  meter_.step(visited / 8 + 1);
  meter_.allocate(static_cast<std::int64_t>(found.size() * sizeof(Step)) + 64);
  return found;
}

bool Canonical::ends_chunk(const Node& node) {
  const TokenSteps::Place place = TokenSteps::place(node.place);
  const Encoder& encoder = steps_->encoder();
  if (place.node != 0 || (!encoder.whole_only(node.last) && encoder.whole_at(node.whole) != kNoToken)) return false;
  return may_mark(node.state, place.state);
}

std::optional<bool> Canonical::at_once(const Node& node) {
  const Encoder& encoder = steps_->encoder();
  if (ends_chunk(node)) return true;
  if (!encoder.merged(node.last)) return false;
  const Tail& end = tail(node.state, node.place);
  if (end.kind == Tail::Kind::none) return false;
  if (end.kind == Tail::Kind::unknown || !encoder.follows(node.last, end.first)) return std::nullopt;
  const std::uint32_t whole = node.whole == Encoder::kOff ? node.whole : encoder.whole_step(node.whole, end.text);
  return encoder.whole_at(whole) == kNoToken ? std::optional(true) : std::nullopt;
}

bool Canonical::live(const Node& node) {
  const std::optional<bool> known = at_once(node);
  return known ? *known : search(node);
}

bool Canonical::search(const Node& start) {
  if (const auto known = live_.find(start); known != live_.end()) return known->second;
  struct Open {
    Node node;
    std::size_t from;
  };
  const Encoder& encoder = steps_->encoder();
  std::vector<Open> open{{start, 0}};
  std::unordered_set<Node, NodeHash> seen{start};
  const auto succeed = [&](std::size_t at) {
    for (;; at = open[at].from) {
      live_[open[at].node] = true;
      if (at == 0) return true;
    }
  };
  for (std::size_t i = 0; i < open.size(); ++i) {
    const Node node = open[i].node;
    for (const Step& step : successors(node.state, node.place)) {
      meter_.step();
      if (!encoder.follows(node.last, step.token)) continue;
      const Node next{step.state, step.place, whole_behind(node.whole, step.token), step.token};
      const std::optional<bool> known = at_once(next);
      if (known && *known) return succeed(i);
      if (known) continue;
      const auto before = live_.find(next);
      if (before != live_.end() && before->second) return succeed(i);
      if (before == live_.end() && seen.insert(next).second) open.push_back({next, i});
    }
  }
  meter_.allocate(static_cast<std::int64_t>(open.size()) * 64);
  for (const Open& each : open) live_[each.node] = false;
  return false;
}

std::shared_ptr<const Mask> Canonical::mask_of(ExprId state, const Where& where) {
  const Vocabulary& vocabulary = steps_->vocabulary();
  const std::uint64_t from = std::uint64_t{where.place} << 32 | where.whole;
  const Hash128 key = mix(mix(automaton_.hash(state), steps_->salt()), from);
  if (std::shared_ptr<const Mask> known = vocabulary.cache().find(key)) return known;
  const TokenSteps::Table& table = steps_->table(where.place);
  const TokenSteps::Place start = TokenSteps::place(where.place);
  const bool begins_chunk = start.node == 0 && start.marked;
  enum : std::uint8_t { kUnknown, kEnds, kGoesOn };
  std::unordered_map<std::uint32_t, std::vector<std::uint8_t>> verdicts;  // by state and target
  ExprId present = ExprSet::kEmpty;
  std::vector<std::uint8_t>* of_present = nullptr;
  MaskBuilder builder(vocabulary.word_count());
  const auto allowed = [&](std::uint32_t token, ExprId next) {
    const std::uint16_t target = table.target_of[token];
    if (target == TokenSteps::Table::kRefused) return false;
    const PlaceId place = table.targets[target];
    if (next != present) {
      present = next;
      of_present = &verdicts.try_emplace(next.value, table.targets.size()).first->second;
    }
    std::uint8_t& verdict = (*of_present)[target];
    if (verdict == kUnknown) {
      const TokenSteps::Place there = TokenSteps::place(place);
      verdict = there.node == 0 && may_mark(next, there.state) ? kEnds : kGoesOn;
    }
    // A token that begins a chunk is all of it so far; one that merging gives is no chunk that stays whole.
    if (verdict == kEnds && (begins_chunk || where.whole == Encoder::kOff)) return true;
    return live(Node{next, place, whole_behind(where.whole, token), token});
  };
  const std::int64_t visited = walk_tokens(
      vocabulary, automaton_, state,
      [&](const TrieNode& node, ExprId next) {
        if (node.token & TrieNode::kShared) {
          for (std::uint32_t token : vocabulary.shared_ids(node.token)) {
            if (allowed(token, next)) builder.allow(token);
          }
        } else if (allowed(node.token, next)) {
          builder.allow(node.token);
        }
      },
      [&](const Subtree& subtree, ExprId next) {
        for (std::uint32_t k = subtree.first; k < subtree.last; ++k) {
          const std::uint32_t token = vocabulary.ids_in_order()[k];
          if (allowed(token, next)) builder.allow(token);
        }
      });
  meter_.step(visited / 8 + 1);
  std::shared_ptr<const Mask> mask = builder.finish();
  vocabulary.cache().insert(key, mask);
  return mask;
}

}  // namespace detent
