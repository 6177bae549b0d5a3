// Rows of tokens: whether one goes on from where it stands, and the row that ends it (machine/canonical.h).
#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "base/fork_guard.h"
#include "runtime/canonical_constraint.h"

namespace detent {

std::uint32_t CanonicalConstraint::completion_length(ExprId state, const Context& at) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart(cancel_);
  if (at.last == kNoToken) return end_of(state, PreTokenizer::kTextStart).tokens;
  std::uint32_t least = kInfinite;
  for (const Where& where : std::vector<Where>(sets_[at.set])) {
    least = std::min(least, end_length(Node{state, where.place, where.whole, at.last}));
  }
  return least;
}

std::vector<std::uint32_t> CanonicalConstraint::completion(ExprId state, const Context& at) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart(cancel_);
  if (at.last == kNoToken) return encode(end_text(state, PreTokenizer::kTextStart));
  std::uint32_t least = kInfinite;
  Node node{};
  for (const Where& where : std::vector<Where>(sets_[at.set])) {
    const Node here{state, where.place, where.whole, at.last};
    const std::uint32_t length = end_length(here);
    if (length < least) least = length, node = here;
  }
  std::vector<std::uint32_t> tokens;
  // Behind what is searched, if anything is, the end is told at once.
  while (!ends_chunk(node) && !fitting_tail(node)) {
    node = first_of_way(node);
    tokens.push_back(node.last);
  }
  const bool may_end = ends_chunk(node);
  const std::uint16_t marks = PretokenTransitions::place(node.place).state;
  Tail* tail = fitting_tail(node);
  if (tail && may_end && end_of(node.state, marks).tokens <= end_length(node)) tail = nullptr;
  const auto add = [&](const std::vector<std::uint32_t>& more) {
    tokens.insert(tokens.end(), more.begin(), more.end());
  };
  if (tail) add(tail_tokens(node, *tail));
  add(encode(tail ? end_text(tail->state, tail->marks) : end_text(node.state, marks)));
  return tokens;
}

const std::vector<CanonicalConstraint::Step>& CanonicalConstraint::successors(ExprId state, PlaceId place) {
  if (const auto known = successors_.find(id(state, place)); known != successors_.end()) return known->second;
  const PretokenTransitions::Table& table = steps_->table(place);
  std::vector<Step> found;
  const std::int64_t visited = walk(state, [&](std::uint32_t token, ExprId next) {
    const std::uint16_t target = table.target_of(token);
    if (target != PretokenTransitions::Table::kRefused) found.push_back({token, next, table.targets[target]});
  });
  found.shrink_to_fit();
  meter_.step(visited / 8 + 1);
  meter_.allocate(static_cast<std::int64_t>(found.size() * sizeof(Step)) + 64);
  return successors_[id(state, place)] = std::move(found);
}

bool CanonicalConstraint::ends_chunk(const Node& node) {
  const PretokenTransitions::Place place = PretokenTransitions::place(node.place);
  const Encoder& encoder = steps_->encoder();
  if (place.node != 0 || (!encoder.whole_only(node.last) && encoder.whole_at(node.whole) != kNoToken)) return false;
  return may_mark(node.state, place.state);
}

std::vector<std::uint32_t> CanonicalConstraint::tail_tokens(const Node& node, const Tail& tail) {
  const Encoder& encoder = steps_->encoder();
  return encoder.one_chunk() ? tokens_to_end(node, tail) : encoder.merge(tail.text);
}

CanonicalConstraint::Tail* CanonicalConstraint::fitting_tail(const Node& node) {
  const Encoder& encoder = steps_->encoder();
  if (!encoder.merged(node.last)) return nullptr;
  for (Tail& end : tails(node.state, node.place).texts) {
    if (end.kind != Tail::Kind::found || !encoder.follows(node.last, end.first)) continue;
    if (node.whole == Encoder::kOff) return &end;
    const std::uint32_t whole = encoder.one_chunk() ? whole_to_end(node.whole, node.state, node.place)
                                                    : encoder.whole_step(node.whole, end.text);
    if (encoder.whole_at(whole) == kNoToken) return &end;
  }
  return nullptr;
}

const CanonicalConstraint::Tails* CanonicalConstraint::sure_tails(ExprId state, PlaceId place) {
  const Tails& ends = tails(state, place);
  const auto is_sure = [&](const Tail& end) {
    if (end.kind != Tail::Kind::found) return end.kind == Tail::Kind::none;
    return end.text.size() <= PretokenTransitions::kRest && sure_end(end.state, end.marks) != kInfinite;
  };
  return ends.all && std::ranges::all_of(ends.texts, is_sure) ? &ends : nullptr;
}

CanonicalConstraint::SureSteps CanonicalConstraint::sure_steps(ExprId state, PlaceId place) {
  SureSteps found;
  for (const Step& step : successors(state, place)) {
    const PretokenTransitions::Place behind = PretokenTransitions::place(step.place);
    if (behind.node != 0 || steps_->vocabulary().bytes(step.token).size() > PretokenTransitions::kRest) continue;
    const std::uint32_t end = sure_end(step.state, behind.state);
    if (end != kInfinite) found.emplace_back(step.token, 1 + end);
  }
  std::ranges::stable_sort(found, {}, &SureSteps::value_type::second);
  return found;
}

std::optional<std::uint32_t> CanonicalConstraint::at_once(const Node& node) {
  if (ends_chunk(node)) return reach(node.state, PretokenTransitions::place(node.place).state);
  if (!steps_->encoder().merged(node.last)) return kInfinite;
  if (const std::uint32_t length = apart_length(node.state, node.place); length != kInfinite) return length;
  if (const Tail* end = fitting_tail(node)) {
    return end->bytes + reach(end->state, end->marks);
  }
  return tails(node.state, node.place).texts[0].kind == Tail::Kind::none ? std::optional(kInfinite) : std::nullopt;
}

std::uint32_t CanonicalConstraint::apart_length(ExprId state, PlaceId place) {
  return steps_->encoder().one_chunk() && PretokenTransitions::place(place).node == 0 ? apart(state).length : kInfinite;
}

std::uint32_t CanonicalConstraint::live(const Node& node) {
  if (const std::optional<std::uint32_t> known = at_once(node)) return *known;
  const Way way = way_from(node);
  return way.steps == kInfinite ? kInfinite : way.steps + way.rest;
}

CanonicalConstraint::Way CanonicalConstraint::way_from(const Node& node) {
  if (const std::optional<std::uint32_t> known = at_once(node)) return {*known == kInfinite ? kInfinite : 0, *known};
  if (const auto known = ways_.find(node); known != ways_.end()) return known->second;
  return search(node);
}

// Breadth first, up to the first that is told at once; inside a character, to that of the shortest end behind the same
// token, as `sure_steps` tells it. Of what is known only dead ends are used, so that the way is always the same; the
// rest of a way is the way of where it stands.
CanonicalConstraint::Way CanonicalConstraint::search(const Node& start) {
  struct Open {
    Node node;
    std::size_t from;
    std::uint32_t depth;
  };
  const Encoder& encoder = steps_->encoder();
  std::vector<Open> open{{start, 0, 0}};
  std::unordered_set<Node, NodeHash> seen{start};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const Node node = open[i].node;
    const std::uint32_t depth = open[i].depth + 1;
    std::uint32_t rest = kInfinite;
    for (const Step& step : successors(node.state, node.place)) {
      meter_.step();
      if (!encoder.follows(node.last, step.token)) continue;
      const Node next = behind_step(node, step);
      if (const std::optional<std::uint32_t> known = at_once(next)) {
        rest = std::min(rest, *known);
        if (rest != kInfinite && PretokenTransitions::place(node.place).node == 0) break;
        continue;
      }
      const auto before = ways_.find(next);
      if ((before != ways_.end() && before->second.steps == kInfinite) || !seen.insert(next).second) continue;
      grow(open.size());
      open.push_back({next, i, depth});
    }
    if (rest == kInfinite) continue;
    for (std::size_t k = i;; k = open[k].from) {
      meter_.allocate(64);
      ways_[open[k].node] = {depth - open[k].depth, rest};
      if (k == 0) return {depth, rest};
    }
  }
  meter_.allocate(static_cast<std::int64_t>(open.size()) * 64);
  for (const Open& each : open) ways_[each.node] = {};
  return {};
}

// The first node of the way that `way_from` tells.
CanonicalConstraint::Node CanonicalConstraint::first_of_way(const Node& node) {
  const Way way = way_from(node);
  for (const Step& step : successors(node.state, node.place)) {
    if (!steps_->encoder().follows(node.last, step.token)) continue;
    const Node next = behind_step(node, step);
    if (way_from(next) == Way{way.steps - 1, way.rest}) return next;
  }
  throw Error(ErrorKind::empty, "canonical");  // there is one
}

std::uint32_t CanonicalConstraint::end_length(const Node& node) {
  std::uint32_t least = kInfinite;
  if (ends_chunk(node)) least = end_of(node.state, PretokenTransitions::place(node.place).state).tokens;
  if (Tail* end = least > 1 ? fitting_tail(node) : nullptr) {
    if (end->length == kInfinite) end->length = static_cast<std::uint32_t>(tail_tokens(node, *end).size());
    least = std::min(least, end->length + end_of(end->state, end->marks).tokens);
  }
  return least == kInfinite ? live(node) : least;
}

}  // namespace detent
