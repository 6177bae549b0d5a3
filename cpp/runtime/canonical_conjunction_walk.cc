#include "runtime/canonical_conjunction_walk.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace detent {

namespace {

constexpr std::size_t kMostCompletions = 128;  // of a target, that other sets share

// As in TokenBounds: whether no token can make the pre-token the text of an unsplit token.
bool has_no_unsplit(const SplitPosition& at) {
  const PretokenPosition position = at.position.decoded();
  return (!position.inside_character() && position.starts_pretoken) || at.unsplit == Encoder::kNoUnsplit;
}

}  // namespace

CanonicalConjunctionWalk::CanonicalConjunctionWalk(const TokenizedLanguage& language, Completions& completions,
                                                   PretokenEndings& endings, CompletionSearch& search,
                                                   ConjunctSets& sets, ExprId state, const SplitPosition& at)
    : language_(language),
      completions_(completions),
      endings_(endings),
      search_(search),
      sets_(sets),
      at_(at),
      row_(language.transitions.row(at.position)),
      no_unsplit_(has_no_unsplit(at)),
      known_(row_.targets.size()) {
  sets_.begin_walk();
  start_ = sets_.of(state);
}

// Calls visit(token, set) for each token that no conjunct refuses, until one call returns true.
template <class Visit>
void CanonicalConjunctionWalk::walk(Visit visit) {
  const Vocabulary& vocabulary = language_.vocabulary();
  const std::vector<TrieNode>& trie = vocabulary.trie();
  std::vector<ConjunctSets::Id> path(vocabulary.max_token_length() + std::size_t{1}, start_);
  std::int64_t visited = 0;
  for (std::size_t i = 0; i < trie.size(); ++visited) {
    const TrieNode& node = trie[i];
    const ConjunctSets::Id at = path[node.depth];
    if (node.subtree) {
      const Subtree& subtree = vocabulary.subtrees()[node.subtree];
      if (subtree.whole && subtree.used.is_subset_of(sets_.loop(at))) {
        const auto ids = std::span(vocabulary.ids_in_order()).subspan(subtree.first, subtree.last - subtree.first);
        for (std::uint32_t token : ids) {
          if (visit(token, at)) return;
        }
        i = node.next;
        continue;
      }
    }
    const ConjunctSets::Id after = sets_.follow(at, static_cast<std::uint8_t>(node.byte));
    bool done = false;
    if (!sets_.is_dead(after)) {
      for_each_id(vocabulary, node.token, [&](std::uint32_t token) { done = done || visit(token, after); });
    }
    if (done) return;
    if (sets_.is_dead(after)) {
      i = node.next;
      continue;
    }
    path[node.depth + std::size_t{1}] = after;
    ++i;
  }
  language_.meter.step(visited / 8 + 1);
}

void CanonicalConjunctionWalk::run(Verdicts& verdicts, std::uint32_t* row) {
  walk([&](std::uint32_t token, ConjunctSets::Id set) {
    if (decide(verdicts, token, set)) row[token >> 5] |= 1u << (token & 31);
    return false;
  });
}

std::optional<std::vector<std::uint32_t>> CanonicalConjunctionWalk::completion_after(Verdicts& verdicts,
                                                                                     std::uint32_t token) {
  std::optional<std::vector<std::uint32_t>> found;
  walk([&](std::uint32_t each, ConjunctSets::Id set) {
    const bool is_allowed = decide(verdicts, each, set);
    if (each == token && is_allowed && last_used_) found = tokens(*last_used_);
    return each == token;
  });
  return found;
}

std::vector<std::uint32_t> CanonicalConjunctionWalk::tokens(const Completion& completion) {
  std::vector<std::uint32_t> tokens;
  ExprId state = completion.state;
  PreTokenizer::State boundary = completion.position.decoded().state;
  if (completion.ending) {
    tokens = endings_.tokens(state, completion.position, *completion.ending);
    state = completion.ending->state;
    boundary = completion.ending->boundary;
  }
  const std::vector<std::uint32_t> rest = language_.transitions.encode(completions_.text(state, boundary));
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return tokens;
}

CanonicalConjunctionWalk::Group& CanonicalConjunctionWalk::group(ConjunctSets::Id set, std::uint16_t target) {
  if (std::exchange(last_set_, set) != set) of_last_set_.assign(known_.size(), nullptr);
  Group*& known = of_last_set_[target];
  if (!known) known = &groups_[std::uint64_t{set} << 16 | target];
  return *known;
}

bool CanonicalConjunctionWalk::decide(Verdicts& verdicts, std::uint32_t token, ConjunctSets::Id set) {
  last_used_ = nullptr;
  const std::uint16_t target = row_.target_of(token);
  if (target == TransitionRow::kRefused) return false;
  Group& group = this->group(set, target);
  if (find(verdicts, token, set, target, group)) return true;
  if (group.is_refused || sets_.state(set) == ExprSet::kEmpty) return false;
  if (!group.knows_own) {
    add_own(verdicts, set, target, group);
    if (find(verdicts, token, set, target, group)) return true;
    if (group.is_refused) return false;
  }
  if (!verdicts.decide(token, sets_.state(set))) return false;
  if (!verdicts.counts()) add_searched(token, sets_.state(set), target);
  return true;
}

// Finds a known completion that fits after a token.
bool CanonicalConjunctionWalk::find(Verdicts& verdicts, std::uint32_t token, ConjunctSets::Id set, std::uint16_t target,
                                    Group& group) {
  const std::vector<Completion*>& known = known_[target];
  while (!group.fits_all && group.checked < known.size()) check(verdicts, set, group, *known[group.checked++]);
  if (group.fits_all) {
    last_used_ = group.fits_all;
    return true;
  }
  const auto found = std::ranges::find_if(group.fit_some, [&](Completion* each) { return may_follow(token, *each); });
  if (found == group.fit_some.end()) return false;
  last_used_ = *found;
  return true;
}

// Notes a completion if the set contains it and it fits.
void CanonicalConjunctionWalk::check(Verdicts& verdicts, ConjunctSets::Id set, Group& group, Completion& completion) {
  language_.meter.step();
  if (!sets_.contains(set, completion.text) || !fits(verdicts, completion)) return;
  if (!completion.ending && completion.first == PretokenTransitions::kNoToken && no_unsplit_) {
    group.fits_all = &completion;
  } else {
    group.fit_some.push_back(&completion);
  }
}

bool CanonicalConjunctionWalk::fits(Verdicts& verdicts, Completion& completion) {
  if (!completion.fits) {
    const auto count = [&] {
      return completion.ending ? search_.token_count(completion.state, completion.position, *completion.ending)
                               : completions_.token_count(completion.state, completion.position.decoded().state);
    };
    completion.fits = !verdicts.counts() || verdicts.fits(count());
  }
  return *completion.fits;
}

bool CanonicalConjunctionWalk::may_follow(std::uint32_t token, const Completion& completion) {
  if (completion.first != PretokenTransitions::kNoToken) {
    const Encoder& encoder = language_.encoder();
    return encoder.may_have_neighbours(token) && encoder.may_follow(token, completion.first);
  }
  const SplitPosition after{completion.position, language_.transitions.unsplit_after(at_.unsplit, token)};
  if (!completion.ending) return language_.transitions.may_end_pretoken(after, token);
  return search_.fits_ending({completion.state, after, token}, *completion.ending);
}

// Looks at the completions of the state itself that need no search: where a pre-token may end after every token, and
// tokens are not counted, only at that one.
void CanonicalConjunctionWalk::add_own(Verdicts& verdicts, ConjunctSets::Id set, std::uint16_t target, Group& group) {
  const ExprId state = sets_.state(set);
  const PositionId position = row_.targets[target];
  const auto add = [&](std::string text, PretokenEnding* ending) {
    storage_.push_back({sets_.add_text(std::move(text)), state, position, ending, PretokenTransitions::kNoToken, {}});
    if (known_[target].size() < kMostCompletions) {
      known_[target].push_back(&storage_.back());
    } else {
      check(verdicts, set, group, storage_.back());
    }
  };
  group.knows_own = true;
  const bool may_end = search_.arrival(state, position).may_end;
  if (may_end) add(completions_.text(state, position.decoded().state), nullptr);
  if (!may_end || !no_unsplit_ || verdicts.counts()) {
    for (PretokenEnding& ending : endings_.find(state, position).endings) {
      std::string text = ending.text;
      if (language_.encoder().single_pretoken()) {
        text.clear();
        for (std::uint32_t token : endings_.tokens(state, position, ending))
          text += language_.vocabulary().bytes(token);
      }
      add(text + completions_.text(ending.state, ending.boundary), &ending);
    }
  }
  while (group.checked < known_[target].size()) check(verdicts, set, group, *known_[target][group.checked++]);
  group.is_refused = may_end && no_unsplit_ && !group.fits_all && group.fit_some.empty();
}

// A completion that a search has found continues other tokens, too. Not where tokens are counted: how far such searches
// go depends on those before.
void CanonicalConjunctionWalk::add_searched(std::uint32_t token, ExprId state, std::uint16_t target) {
  if (at_.unsplit != Encoder::kNoUnsplit || known_[target].size() >= kMostCompletions) return;
  const PositionId position = row_.targets[target];
  const std::vector<std::uint32_t> tokens = search_.completion({state, {position, Encoder::kNoUnsplit}, token});
  std::string text;
  for (std::uint32_t each : tokens) text += language_.vocabulary().bytes(each);
  storage_.push_back({sets_.add_text(std::move(text)), state, position, nullptr, tokens.at(0), {}});
  known_[target].push_back(&storage_.back());
}

}  // namespace detent
