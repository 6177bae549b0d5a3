#include "automaton/grammar.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "automaton/distinct_keys.h"
#include "base/error.h"
#include "expr/parts.h"

namespace detent {
namespace {

class GrammarCompiler {
 public:
  GrammarCompiler(ExprSet& exprs, Liveness& liveness, Meter& meter, const Node& grammar, const NestedLists& nested,
                  const PointerMap<ExprId>& interned)
      : exprs_(exprs), liveness_(liveness), meter_(meter), grammar_(grammar), nested_(nested), interned_(interned) {}

  ExprId compile() {
    list_nodes();
    find_facts();
    refuse_left_recursion();
    make_rules();
    return rules_[grammar_.minimum()];
  }

 private:
  // What is known of a node's language. Facts grow monotonically to a fixed point.
  struct Facts {
    bool has_text = false;
    bool nullable = false;
    std::uint32_t min_length = UINT32_MAX;  // upper bound
    bool operator==(const Facts&) const = default;
  };
  struct Part {
    const Node* node;
    std::vector<std::uint32_t> children;  // indices of parts; the child of a reference is its definition
    std::vector<std::uint32_t> parents;
    Facts facts;
    std::optional<bool> has_many_values;  // of a closed part, once it is asked for
    ExprId expr;
  };

  // Lists the nodes of the definitions, children before parents except through references.
  void list_nodes() {
    PointerMap<std::uint32_t> numbers;
    std::vector<const Node*> pending;
    for (std::size_t i = grammar_.children().size(); i-- > 0;) pending.push_back(grammar_.children()[i].get());
    while (!pending.empty()) {
      const Node* node = pending.back();
      if (numbers.find(node)) {
        pending.pop_back();
        continue;
      }
      meter_.step();
      bool ready = true;
      if (node->is_open()) {
        for (std::size_t i = node->children().size(); i-- > 0;) {
          const Node* child = node->children()[i].get();
          if (!numbers.find(child)) {
            pending.push_back(child);
            ready = false;
          }
        }
      }
      if (!ready) continue;
      pending.pop_back();
      numbers.insert(node, static_cast<std::uint32_t>(parts_.size()));
      parts_.push_back({node, {}, {}, {}, {}, {}});
      if (node->is_open()) {
        for (const NodeRef& child : node->children()) parts_.back().children.push_back(*numbers.find(child.get()));
      }
    }
    for (const NodeRef& definition : grammar_.children()) definitions_.push_back(*numbers.find(definition.get()));
    for (std::uint32_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      if (part.node->kind() == NodeKind::reference) part.children = {definitions_[part.node->minimum()]};
      for (std::uint32_t child : part.children) parts_[child].parents.push_back(i);
    }
  }

  void find_facts() {
    std::deque<std::uint32_t> pending;
    std::vector<bool> is_pending(parts_.size(), true);
    for (std::uint32_t i = 0; i < parts_.size(); ++i) pending.push_back(i);
    while (!pending.empty()) {
      const std::uint32_t i = pending.front();
      pending.pop_front();
      is_pending[i] = false;
      meter_.step(1 + std::ssize(parts_[i].children) / 8);
      const Facts facts = evaluate(parts_[i]);
      if (facts == parts_[i].facts) continue;
      parts_[i].facts = facts;
      for (std::uint32_t parent : parts_[i].parents) {
        if (!is_pending[parent]) pending.push_back(parent);
        is_pending[parent] = true;
      }
    }
  }

  static std::uint32_t add(std::uint64_t x, std::uint64_t y) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(x + y, UINT32_MAX - 1));
  }
  const Facts& facts(std::uint32_t part) const { return parts_[part].facts; }

  // The facts of a part, from the current facts of its children.
  Facts evaluate(const Part& part) {
    const Node& node = *part.node;
    if (!node.is_open()) {
      const ExprId id = *interned_.find(&node);
      const std::uint32_t length = exprs_[id].has_guard ? liveness_.bound(id) : liveness_.length(id);
      if (length == Liveness::kDead) return {};
      return {true, exprs_[id].nullable, length};
    }
    switch (node.kind()) {
      case NodeKind::concat: {
        Facts all{true, true, 0};
        for (std::uint32_t child : part.children) {
          if (!facts(child).has_text) return {};
          all.nullable &= facts(child).nullable;
          all.min_length = add(all.min_length, facts(child).min_length);
        }
        return all;
      }
      case NodeKind::union_of: {
        Facts any;
        for (std::uint32_t child : part.children) {
          any.has_text |= facts(child).has_text;
          any.nullable |= facts(child).nullable;
          any.min_length = std::min(any.min_length, facts(child).min_length);
        }
        return any;
      }
      case NodeKind::repeat: {
        const Facts& inner = facts(part.children[0]);
        if (node.minimum() == 0) return {true, true, 0};
        if (!inner.has_text) return {};
        return {true, inner.nullable, add(std::uint64_t{inner.min_length} * node.minimum(), 0)};
      }
      case NodeKind::reference: return facts(part.children[0]);
      case NodeKind::unordered: return evaluate_unordered(part);
      case NodeKind::ordered: return evaluate_ordered(part);
      case NodeKind::distinct: return evaluate_distinct(part);
      default: throw Error(ErrorKind::unsupported, "open_reference");
    }
  }

  // The required members; then the shortest optional ones, and `others`, up to the minimum.
  Facts evaluate_unordered(const Part& part) {
    const Node& node = *part.node;
    std::vector<std::uint32_t> optional;
    std::uint32_t required = 0, length = 0;
    for (std::size_t i = 2; i < part.children.size(); ++i) {
      const Facts& member = facts(part.children[i]);
      if (node.text()[i - 2] == '1') {
        if (!member.has_text) return {};
        ++required;
        length = add(length, member.min_length);
      } else if (member.has_text) {
        optional.push_back(member.min_length);
      }
    }
    const Facts& others = facts(part.children[1]);
    const std::uint32_t more = node.minimum() > required ? node.minimum() - required : 0;
    if (required > node.maximum() || (!others.has_text && more > optional.size())) return {};
    std::sort(optional.begin(), optional.end());
    for (std::uint32_t i = 0; i < more; ++i) {
      if (i >= optional.size() && others.min_length == 0) break;
      length = add(length, i < optional.size() ? optional[i] : others.min_length);
    }
    const std::uint32_t count = required + more;
    if (count > 1 && !facts(part.children[0]).has_text) return {};
    if (count > 1) length = add(length, std::uint64_t{facts(part.children[0]).min_length} * (count - 1));
    return {true, count == 0, length};
  }

  // Open keys have at least one item at most (Node::distinct).
  Facts evaluate_distinct(const Part& part) {
    const Node& node = *part.node;
    if (node.has_order()) return evaluate_ordered_kinds(part);
    const Facts &key = facts(part.children[1]), &rest = facts(part.children[2]);
    if (node.minimum() == 0) return {true, true, 0};
    if (!key.has_text || !rest.has_text) return {};
    return {true, false, add(key.min_length, rest.min_length)};
  }

  // Keys are closed; the others may be rules.
  Facts evaluate_ordered_kinds(const Part& part) {
    std::vector<ExprId> keys;
    std::vector<std::uint32_t> lengths;
    for (std::size_t i = 1; i < part.children.size(); i += 2) {
      const bool is_live = facts(part.children[i]).has_text && facts(part.children[i + 1]).has_text;
      keys.push_back(is_live ? *interned_.find(part.node->children()[i].get()) : ExprSet::kEmpty);
      lengths.push_back(is_live ? facts(part.children[i + 1]).min_length : 0);
    }
    auto& [known_keys, named] = kinds_[part.node];
    const auto find = [&] {
      known_keys = keys;
      named = find_kinds(exprs_, liveness_.derivatives(), liveness_, meter_, *part.node, keys, lengths);
    };
    if (!named.order || known_keys != keys) find();
    if (named.order->start() == ItemOrder::kNone) return {};
    named.order->set_lengths(lengths);
    const std::vector<std::uint32_t> completion = named.order->completion(named.order->start());
    if (named.count_keys(completion) != named.wanted) find();
    Facts all{true, completion.empty(), named.length_of_names()};
    for (std::uint32_t kind : completion) {
      all.min_length = add(all.min_length, facts(part.children[2 * kind + 2]).min_length);
    }
    if (completion.size() > 1) {
      const std::uint64_t separators = completion.size() - 1;
      all.min_length = add(all.min_length, facts(part.children[0]).min_length * separators);
    }
    return all;
  }

  Facts evaluate_ordered(const Part& part) {
    const Node& node = *part.node;
    Facts all{true, true, 0};
    std::uint32_t count = 0, shortest = facts(part.children[1]).min_length;
    for (std::size_t i = 2; i < part.children.size(); ++i) {
      const Facts& member = facts(part.children[i]);
      shortest = std::min(shortest, member.min_length);
      if (node.text()[i - 2] != '1') continue;
      if (!member.has_text) return {};
      all.nullable = false;
      all.min_length = add(all.min_length, member.min_length);
      if (count++ > 0) all.min_length = add(all.min_length, facts(part.children[0]).min_length);
    }
    if (count > 1 && !facts(part.children[0]).has_text) return {};
    if (count == 0 && node.minimum() > 0) return {shortest != UINT32_MAX, false, shortest};
    return all;
  }

  // For each definition, the definitions that it may call before it reads a byte.
  std::vector<std::vector<std::uint32_t>> first_calls() {
    std::vector<std::vector<std::uint32_t>> first(definitions_.size());
    for (std::size_t i = 0; i < definitions_.size(); ++i) {
      std::unordered_set<std::uint32_t> seen{definitions_[i]};
      std::vector<std::uint32_t> pending{definitions_[i]};
      while (!pending.empty()) {
        const Part& part = parts_[pending.back()];
        pending.pop_back();
        meter_.step();
        if (!part.node->is_open() || !part.facts.has_text) continue;
        if (part.node->kind() == NodeKind::reference) {
          first[i].push_back(part.node->minimum());
          continue;
        }
        const bool is_concat = part.node->kind() == NodeKind::concat;
        for (std::size_t k = 0; k < part.children.size(); ++k) {
          const bool has_members = part.node->kind() == NodeKind::unordered || part.node->kind() == NodeKind::ordered ||
                                   part.node->kind() == NodeKind::distinct;
          if (has_members && k == 0) continue;  // the separator is not first
          if (seen.insert(part.children[k]).second) pending.push_back(part.children[k]);
          if (is_concat && !parts_[part.children[k]].facts.nullable) break;
        }
      }
    }
    return first;
  }

  // The derivative of a rule that may call itself first has no end.
  void refuse_left_recursion() {
    const std::vector<std::vector<std::uint32_t>> first = first_calls();
    // Remove the rules that start with no remaining rule. A rule that remains is on a cycle, or leads to one.
    std::vector<std::size_t> remaining_calls(first.size());
    std::vector<std::vector<std::uint32_t>> callers(first.size());
    std::vector<std::uint32_t> done;
    for (std::uint32_t i = 0; i < first.size(); ++i) {
      remaining_calls[i] = first[i].size();
      for (std::uint32_t callee : first[i]) callers[callee].push_back(i);
      if (remaining_calls[i] == 0) done.push_back(i);
    }
    std::size_t removed = 0;
    while (!done.empty()) {
      const std::uint32_t i = done.back();
      done.pop_back();
      ++removed;
      for (std::uint32_t caller : callers[i]) {
        if (--remaining_calls[caller] == 0) done.push_back(caller);
      }
    }
    if (removed == first.size()) return;
    const auto it =
        std::find_if(remaining_calls.begin(), remaining_calls.end(), [](std::size_t count) { return count > 0; });
    throw Error(ErrorKind::unsupported, "left_recursion", it - remaining_calls.begin());
  }

  void make_rules() {
    bool nonempty = true, has_guard = false, has_strict_guard = false, completes_by_bytes = true;
    for (Part& part : parts_) {
      if (part.node->is_open()) continue;
      part.expr = part.facts.has_text ? *interned_.find(part.node) : ExprSet::kEmpty;
      nonempty &= exprs_[part.expr].nonempty;
      has_guard |= exprs_[part.expr].has_guard;
      has_strict_guard |= exprs_[part.expr].has_strict_guard;
      completes_by_bytes &= exprs_[part.expr].completes_by_bytes && exprs_[part.expr].residuals_complete_by_bytes;
    }
    for (std::uint32_t i = 0; i < definitions_.size(); ++i) {
      const Facts& facts = parts_[definitions_[i]].facts;
      if (!facts.has_text) {
        rules_.push_back(ExprSet::kEmpty);
        continue;
      }
      Expr traits;
      traits.nullable = facts.nullable;
      traits.nonempty = nonempty;
      traits.has_guard = has_guard;
      traits.has_strict_guard = has_strict_guard;
      traits.completes_by_bytes = traits.residuals_complete_by_bytes = completes_by_bytes && !has_guard;
      traits.min_length = facts.min_length;
      traits.max_completion_bound = UINT32_MAX;
      traits.hash = mix(grammar_.hash(), i);
      rules_.push_back(exprs_.rule(traits));
    }
    replace_loops();
    for (Part& part : parts_) {
      if (part.node->is_open()) part.expr = part.facts.has_text ? build(part) : ExprSet::kEmpty;
    }
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (exprs_[rules_[i]].op == Op::rule) exprs_.define(rules_[i], parts_[definitions_[i]].expr);
    }
  }

  // A definition r = x r | y r | "" is (x | y)*. Repeats have normal forms: r r r is r, so that a grammar which splits
  // a list in many ways has few states.
  void replace_loops() {
    std::vector<std::vector<std::uint32_t>> loops(definitions_.size());  // the parts before the reference, in all
    for (std::uint32_t i = 0; i < definitions_.size(); ++i) loops[i] = parts_of_loop(i);
    for (std::uint32_t i = 0; i < definitions_.size(); ++i) {
      if (loops[i].empty() || !parts_[definitions_[i]].facts.has_text) continue;
      const bool waits = std::ranges::any_of(loops[i], [&](std::uint32_t part) {
        const Node& node = *parts_[part].node;
        return node.kind() == NodeKind::reference && exprs_[rules_[node.minimum()]].op == Op::rule &&
               !loops[node.minimum()].empty();
      });
      if (waits) continue;
      for (std::uint32_t index : loops[i]) {  // children before parents
        Part& part = parts_[index];
        if (part.node->is_open()) part.expr = part.facts.has_text ? build(part) : ExprSet::kEmpty;
      }
      std::vector<ExprId> rounds;
      for (std::uint32_t child : parts_[definitions_[i]].children) {
        if (parts_[child].node->kind() == NodeKind::epsilon) continue;
        const std::vector<std::uint32_t>& children = parts_[child].children;
        ExprId round = ExprSet::kEpsilon;
        for (std::size_t k = children.size() - 1; k-- > 0;) round = exprs_.concat(parts_[children[k]].expr, round);
        rounds.push_back(round);
      }
      rules_[i] = exprs_.repeat(exprs_.union_of(std::move(rounds)), 0, ExprSet::kUnbounded);
    }
  }

  // The parts of the rounds if a definition has the form of a loop, ascending; otherwise none.
  std::vector<std::uint32_t> parts_of_loop(std::uint32_t definition) {
    const Part& part = parts_[definitions_[definition]];
    const auto is_itself = [&](std::uint32_t index) {
      const Node& node = *parts_[index].node;
      return node.kind() == NodeKind::reference && node.minimum() == definition;
    };
    if (part.node->kind() != NodeKind::union_of) return {};
    std::vector<std::uint32_t> found;
    bool may_end = false;
    for (std::uint32_t child : part.children) {
      const Part& round = parts_[child];
      may_end |= round.node->kind() == NodeKind::epsilon;
      if (round.node->kind() == NodeKind::epsilon) continue;
      if (!round.node->is_open() || round.node->kind() != NodeKind::concat || !is_itself(round.children.back()))
        return {};
      found.insert(found.end(), round.children.begin(), round.children.end() - 1);
    }
    if (!may_end || found.empty()) return {};
    std::unordered_set<std::uint32_t> seen(found.begin(), found.end());
    for (std::size_t i = 0; i < found.size(); ++i) {
      meter_.step();
      if (is_itself(found[i])) return {};
      if (parts_[found[i]].node->kind() == NodeKind::reference) continue;
      for (std::uint32_t child : parts_[found[i]].children) {
        if (seen.insert(child).second) found.push_back(child);
      }
    }
    std::ranges::sort(found);
    return found;
  }

  // Whether some free string is inside a part. References are followed, though their rules are not defined yet.
  bool has_many_values(std::uint32_t root) {
    std::unordered_set<std::uint32_t> seen{root};
    std::vector<std::uint32_t> pending{root};
    while (!pending.empty()) {
      Part& part = parts_[pending.back()];
      pending.pop_back();
      meter_.step();
      if (!part.facts.has_text) continue;
      if (!part.node->is_open()) {
        if (!part.has_many_values) part.has_many_values = detent::has_many_values(exprs_, *interned_.find(part.node));
        if (*part.has_many_values) return true;
      }
      for (std::size_t k = 0; k < part.children.size(); ++k) {
        if (!may_occur(*part.node, k)) continue;
        if (seen.insert(part.children[k]).second) pending.push_back(part.children[k]);
      }
    }
    return false;
  }

  ExprId build(const Part& part) {
    std::vector<ExprId> children;
    if (part.node->kind() != NodeKind::reference) {
      for (std::uint32_t child : part.children) children.push_back(parts_[child].expr);
    }
    switch (part.node->kind()) {
      case NodeKind::concat: return concat_elements(exprs_, children);
      case NodeKind::union_of: return exprs_.union_of(std::move(children));
      case NodeKind::repeat: return exprs_.repeat(children[0], part.node->minimum(), part.node->maximum());
      case NodeKind::reference: return rules_[part.node->minimum()];
      case NodeKind::ordered: return make_ordered(exprs_, *part.node, children);
      case NodeKind::distinct:
        return make_distinct(exprs_, liveness_.derivatives(), liveness_, meter_, *part.node, children,
                             nested_.contain(*part.node), !part.node->has_order() && has_many_values(part.children[1]));
      default: return make_unordered(exprs_, *part.node, children);
    }
  }

  ExprSet& exprs_;
  Liveness& liveness_;
  Meter& meter_;
  const Node& grammar_;
  const NestedLists& nested_;
  const PointerMap<ExprId>& interned_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> definitions_;  // index of the part of each
  std::vector<ExprId> rules_;
  std::unordered_map<const Node*, std::pair<std::vector<ExprId>, NamedKinds>> kinds_;
};

}  // namespace

std::vector<const Node*> closed_parts(const Node& grammar) {
  std::vector<const Node*> found;
  PointerMap<bool> seen;
  std::vector<const Node*> pending;
  const auto push = [&](const Node& node) {
    for (const NodeRef& child : node.children()) {
      if (seen.insert(child.get(), true)) pending.push_back(child.get());
    }
  };
  push(grammar);
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    if (node->is_open())
      push(*node);
    else
      found.push_back(node);
  }
  return found;
}

ExprId compile_grammar(ExprSet& exprs, Liveness& liveness, Meter& meter, const Node& grammar,
                       const NestedLists& nested_lists, const PointerMap<ExprId>& interned) {
  return GrammarCompiler(exprs, liveness, meter, grammar, nested_lists, interned).compile();
}

}  // namespace detent
