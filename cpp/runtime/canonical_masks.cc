// The masks of a place (machine/canonical.h), made of parts that all languages share where these suffice.
#include <algorithm>
#include <memory>
#include <optional>

#include "runtime/canonical_constraint.h"

namespace detent {

// How far an end is, at least, behind each token that a state and a place allow. Tokens that lead to the same state and
// the same marks share the answer.
class CanonicalConstraint::EndsBehind {
 public:
  EndsBehind(CanonicalConstraint& canonical, ExprId state, const Where& where)
      : canonical_(canonical), state_(state), where_(where), table_(canonical.steps_->table(where.place)) {
    const PretokenTransitions::Place place = PretokenTransitions::place(where.place);
    // A token that begins a chunk is all of it so far, and one that merging gives is no chunk that stays whole.
    never_whole_ = (place.node == 0 && place.marked) || where.whole == Encoder::kOff;
  }

  // Where a token that the language allows leads it.
  ExprId next(std::uint32_t token) const {
    ExprId next = state_;
    for (char byte : canonical_.steps_->vocabulary().bytes(token)) {
      next = canonical_.automaton_.row(next)[canonical_.automaton_.class_of()[static_cast<std::uint8_t>(byte)]];
    }
    return next;
  }

  // kInfinite if there is none. `next` is the state behind the token.
  std::uint32_t operator()(std::uint32_t token, ExprId next) {
    const std::uint16_t target = table_.target_of(token);
    if (target == PretokenTransitions::Table::kRefused) return kInfinite;
    const PlaceId place = table_.targets[target];
    const std::uint32_t at_mark = at_once(next, target);
    if (at_mark != kInfinite && never_whole_) return at_mark;
    return canonical_.live(Node{next, place, canonical_.whole_behind(where_.whole, token), token});
  }

 private:
  static constexpr std::uint32_t kUnknown = kInfinite - 1;

  // The end where the chunk ends behind the token, or a character that fits to all tokens follows, or kInfinite.
  std::uint32_t at_once(ExprId next, std::uint16_t target) {
    if (next != last_state_) {
      last_state_ = next;
      const auto [known, is_new] = known_.try_emplace(next.value);
      if (is_new) known->second.assign(table_.targets.size(), kUnknown);
      of_last_state_ = &known->second;
    }
    std::uint32_t& end = (*of_last_state_)[target];
    if (end == kUnknown) {
      const PretokenTransitions::Place place = PretokenTransitions::place(table_.targets[target]);
      const bool ends = place.node == 0 && canonical_.may_mark(next, place.state);
      end = ends ? std::min(canonical_.reach(next, place.state), kUnknown - 1)
                 : canonical_.apart_length(next, table_.targets[target]);
    }
    return end;
  }

  CanonicalConstraint& canonical_;
  ExprId state_;
  Where where_;
  const PretokenTransitions::Table& table_;
  bool never_whole_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> known_;  // by state and target
  ExprId last_state_ = ExprSet::kEmpty;
  std::vector<std::uint32_t>* of_last_state_ = nullptr;
};

// How far an end is, at least, behind each token that a beginning and a place allow, where that is the same whatever
// follows the beginning; and which tokens have none then. That a chunk may stay whole is left aside.
class CanonicalConstraint::SureEnds {
 public:
  enum class Kind : std::uint8_t { refused, sure, unknown, by_token, unsure };
  struct Ends {
    std::uint32_t length = kInfinite;  // of the end, if it is that of all tokens that lead there
    const Tails* tails = nullptr;
    std::optional<SureSteps> steps;  // those that end at a mark, the shortest ends first
  };
  // By target of the table.
  struct Behind {
    std::vector<Kind> kinds;  // and of those that lead nowhere
    std::vector<Ends> ends;
  };

  SureEnds(CanonicalConstraint& canonical, PlaceId from)
      : canonical_(canonical), table_(canonical.steps_->table(from)) {}

  // Of neighbours among the tokens many lead to one state.
  Behind& behind(ExprId next) {
    if (next != last_state_) {
      last_state_ = next;
      const auto [known, is_new] = known_.try_emplace(next.value);
      of_last_state_ = &known->second;
      if (is_new) {
        of_last_state_->kinds.assign(table_.targets.size() + 1, Kind::unknown);
        of_last_state_->kinds.back() = Kind::refused;
        of_last_state_->ends.resize(table_.targets.size());
      }
    }
    return *of_last_state_;
  }
  std::size_t target_of(std::uint32_t token) const {
    return std::min<std::size_t>(table_.target_of(token), table_.targets.size());
  }

  // Of a token that leads to `next` and the target.
  std::pair<Kind, std::uint32_t> of(std::uint32_t token, ExprId next, std::size_t target) {
    Behind& behind = this->behind(next);
    Kind& kind = behind.kinds[target];
    if (kind == Kind::refused) return {kind, kInfinite};
    Ends& ends = behind.ends[target];
    const PlaceId place = table_.targets[target];
    if (kind == Kind::unknown) kind = look(ends, next, place);
    if (kind != Kind::by_token) return {kind, ends.length};
    const Encoder& encoder = canonical_.steps_->encoder();
    const bool in_character = PretokenTransitions::place(place).node != 0;
    if (!encoder.merged(token)) return {in_character ? Kind::refused : Kind::unsure, kInfinite};
    for (const Tail& tail : ends.tails->texts) {
      if (!encoder.follows(token, tail.first)) continue;
      return {Kind::sure, tail.bytes + canonical_.sure_end(tail.state, tail.marks)};
    }
    if (!in_character) return {Kind::unsure, kInfinite};
    if (!ends.steps) ends.steps = canonical_.sure_steps(next, place);
    for (const auto& [step, length] : *ends.steps) {
      if (encoder.follows(token, step)) return {Kind::sure, length};
    }
    return {Kind::unsure, kInfinite};
  }

 private:
  Kind look(Ends& ends, ExprId next, PlaceId place) {
    const PretokenTransitions::Place there = PretokenTransitions::place(place);
    if (there.node == 0) ends.length = canonical_.sure_end(next, there.state);
    if (ends.length != kInfinite) return Kind::sure;
    ends.tails = canonical_.sure_tails(next, place);
    if (!ends.tails) return Kind::unsure;
    if (ends.tails->texts[0].kind != Tail::Kind::none) return Kind::by_token;
    return there.node == 0 ? Kind::unsure : Kind::refused;
  }

  CanonicalConstraint& canonical_;
  const PretokenTransitions::Table& table_;
  std::unordered_map<std::uint32_t, Behind> known_;
  ExprId last_state_ = ExprSet::kEmpty;
  Behind* of_last_state_ = nullptr;
};

// As in `MaskComputer`, what is found of a beginning serves all states that begin so, of all languages.
CanonicalConstraint::Inside CanonicalConstraint::inside(ExprId beginning, PlaceId from) {
  const Vocabulary& vocabulary = steps_->vocabulary();
  const Hash128 own = mix(mix(mix(automaton_.hash(beginning), steps_->salt()), from), 0x696e);
  const Hash128 key_of_unsure = mix(own, 1);
  constexpr auto kind = MaskCache::Kind::slice;
  Inside found{vocabulary.cache().find(own, kind), vocabulary.cache().find(key_of_unsure, kind)};
  if (found.sure && found.unsure) return found;
  const auto keep = [&] {
    vocabulary.cache().insert(own, found.sure, kind);
    vocabulary.cache().insert(key_of_unsure, found.unsure, kind);
    return found;
  };
  // A byte takes a round at most: where a token and its end fit into the bound, they do not tell that there is one.
  if (const UnboundedState wide = masks_.analysis().drop_upper_bound(beginning); wide.state != beginning) {
    found = inside(wide.state, from);
    if (std::uint64_t{vocabulary.max_token_length()} + found.sure->max_completion_bound() <= wide.rounds) return keep();
  }
  SureEnds ends(*this, from);
  const auto sure = std::make_unique_for_overwrite<std::uint32_t[]>(vocabulary.size() + std::size_t{1});
  std::size_t count = 0;
  std::vector<std::uint32_t> unsure;
  std::uint32_t max_completion_bound = 0;
  const auto visit_one = [&](std::uint32_t token, ExprId next) {
    const auto [kind_of, length] = ends.of(token, next, ends.target_of(token));
    if (kind_of == SureEnds::Kind::unsure) unsure.push_back(token);
    if (kind_of != SureEnds::Kind::sure) return;
    sure[count++] = token;
    max_completion_bound = std::max(max_completion_bound, length);
  };
  const auto visit = [&](const TrieNode& node, ExprId next) {
    if (node.token & TrieNode::kShared) {
      for (std::uint32_t token : vocabulary.shared_ids(node.token)) visit_one(token, next);
    } else {
      visit_one(node.token, next);
    }
  };
  // Most tokens of a fragment are visited here, and of most of them it is known already: without branches.
  const auto visit_all = [&](const Subtree& subtree, ExprId next) {
    const std::vector<SureEnds::Kind>& kinds = ends.behind(next).kinds;
    for (std::uint32_t k = subtree.first; k < subtree.last; ++k) {
      const std::uint32_t token = vocabulary.ids_in_order()[k];
      const SureEnds::Kind known = kinds[ends.target_of(token)];
      sure[count] = token;
      count += known == SureEnds::Kind::sure ? 1 : 0;
      if (known > SureEnds::Kind::sure) visit_one(token, next);
    }
  };
  meter_.step(walk_tokens(vocabulary, automaton_, beginning, visit, visit_all) / 8 + 1);
  const auto make = [&vocabulary](const std::uint32_t* tokens, std::size_t size, std::uint32_t length) {
    MaskBuilder builder(vocabulary.word_count());
    builder.allow(tokens, size);
    builder.note_length(length);
    return builder.finish();
  };
  found = {make(sure.get(), count, max_completion_bound), make(unsure.data(), unsure.size(), 0)};
  return keep();
}

std::shared_ptr<const Mask> CanonicalConstraint::mask_of(ExprId state, const Where& where) {
  const std::uint64_t from = std::uint64_t{where.place} << 32 | where.whole;
  const Hash128 key = mix(mix(automaton_.hash(state), steps_->salt()), from);
  MaskCache& cache = steps_->vocabulary().cache();
  if (std::shared_ptr<const Mask> known = cache.find(key)) return known;
  std::shared_ptr<const Mask> mask = make_mask(state, where);
  cache.insert(key, mask);
  return mask;
}

// A thread builds one mask at a time, so the parts come first and the builder last.
std::shared_ptr<const Mask> CanonicalConstraint::make_mask(ExprId state, const Where& where) {
  const Vocabulary& vocabulary = steps_->vocabulary();
  EndsBehind ends(*this, state, where);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> tokens;  // and how far their ends are
  const auto visit = [&](std::uint32_t token, ExprId next) {
    if (const std::uint32_t length = ends(token, next); length != kInfinite) tokens.emplace_back(token, length);
  };
  SlicedState sliced{{}, state};
  if (!vocabulary.tokenizable_texts()) sliced = masks_.analysis().slice(state);
  const bool has_part = sliced.slices.size() == 1;
  const std::uint32_t rest_length = has_part ? straight(sliced.slices[0].continuation) : kInfinite;
  Inside part;                         // none if the state begins with none, or with several
  std::vector<std::uint32_t> refused;  // of the tokens that are sure but for what the chunk may be
  if (rest_length == kInfinite) {
    meter_.step(walk(state, visit) / 8 + 1);
  } else {
    const auto& [beginning, rest] = sliced.slices[0];
    part = inside(beginning, where.place);
    if (const std::vector<std::uint32_t>& completing = steps_->completing(where.whole); !completing.empty()) {
      std::vector<std::uint32_t> sure(vocabulary.word_count());
      part.sure->add_to(sure.data());
      for (std::uint32_t token : completing) {
        if ((sure[token >> 5] >> (token & 31) & 1) == 0) continue;
        const std::uint32_t length = ends(token, ends.next(token));
        if (length == kInfinite) {
          refused.push_back(token);
        } else {
          tokens.emplace_back(token, length);
        }
      }
    }
    // A token may be one of several of these: what counts is where it leads from the whole state.
    const auto visit_from_state = [&](std::uint32_t token, ExprId) { visit(token, ends.next(token)); };
    part.unsure->each([&](std::uint32_t token) { visit(token, ends.next(token)); });
    walk_suffixes(*masks_.slice_masks().mask_of(beginning)->context_dependent(), vocabulary, automaton_, rest,
                  visit_from_state);
    if (sliced.remainder != ExprSet::kEmpty) meter_.step(walk(sliced.remainder, visit_from_state) / 8 + 1);
    meter_.step(static_cast<std::int64_t>(tokens.size()) / 8 + 1);
  }

  MaskBuilder builder(vocabulary.word_count());
  if (part.sure) {
    if (refused.empty()) {
      builder.share(part.sure);
    } else {
      builder.copy_from(*part.sure);
      for (std::uint32_t token : refused) builder.refuse(token);
    }
    builder.note_length(part.sure->max_completion_bound() + rest_length);
  }
  for (const auto& [token, length] : tokens) {
    builder.allow(token);
    builder.note_length(length);
  }
  return builder.finish();
}

void CanonicalConstraint::add_within(const Mask& mask, ExprId state, const Where& where, std::uint32_t tokens_after,
                                     std::uint32_t* row) {
  const PretokenTransitions::Table& table = steps_->table(where.place);
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
