#include "schema/plain_nodes.h"

#include <algorithm>
#include <string>

#include "schema/name_table.h"
#include "schema/schema_references.h"
#include "schema/written_strings.h"

namespace detent {

NodeRef PlainNodes::scalar(unsigned kind, int year) const {
  switch (kind) {
    case kNullKind: return notation_.null;
    case kBooleanKind: return notation_.boolean;
    case kIntegerKind: return year <= kDraft4 ? notation_.integer_of_draft_4 : notation_.integer;
    case kNumberKind: return notation_.number;
    default: return notation_.string;
  }
}

NodeRef PlainNodes::listed(const std::vector<std::string_view>& strings) const {
  std::vector<NodeRef> parts;
  for (std::string_view each : strings) {
    WrittenString texts = written_string(each, notation_.is_serialized);
    parts.push_back(std::move(texts.raw));
    if (texts.ascii.get()) parts.push_back(std::move(texts.ascii));
  }
  return Node::union_of(std::move(parts));
}

NodeRef PlainNodes::whole(const JsonText& text, const PlainSchema& plain, const Inner& inner) const {
  std::vector<NodeRef> parts;
  if (plain.unites != MemberRole::unknown) {
    for (Index target : plain.targets) parts.push_back(*inner(target));
    return Node::union_of(std::move(parts));
  }
  if (plain.kinds & kNullKind) parts.push_back(notation_.null);
  if (plain.kinds & kBooleanKind) parts.insert(parts.end(), {notation_.true_word, notation_.false_word});
  if (plain.kinds & kNumberKind) {
    parts.push_back((plain.kinds & kNumberKind) == kIntegerKind ? notation_.integer : notation_.number);
  }
  if (plain.kinds & kStringKind) parts.push_back(notation_.string);
  if (plain.kinds & kArrayKind) parts.push_back(array(plain, inner));
  if (plain.kinds & kObjectKind) parts.push_back(object(text, plain, inner));
  return Node::union_of(std::move(parts));
}

NodeRef PlainNodes::array(const PlainSchema& plain, const Inner& inner) const {
  const std::optional<NodeRef> item = plain.max_items == 0U ? std::nullopt : inner(plain.targets.back());
  if (!item) return plain.min_items > 0 ? Node::empty() : notation_.empty_array;
  const std::uint32_t upper = plain.max_items ? *plain.max_items - 1 : Node::kUnbounded;
  NodeRef more =
      Node::repeat(Node::concat({notation_.comma, *item}), plain.min_items > 0 ? plain.min_items - 1 : 0, upper);
  NodeRef some = Node::concat({notation_.open_array, *item, std::move(more), notation_.close_array});
  return plain.min_items > 0 ? some : Node::union_of({notation_.empty_array, std::move(some)});
}

NodeRef PlainNodes::object(const JsonText& text, const PlainSchema& plain, const Inner& inner) const {
  NameTable required_names, declared;
  for (Index name : plain.required) required_names.insert(text[name].text);
  const std::optional<NodeRef> other = inner(plain.targets[plain.targets.size() - 2]);
  const std::size_t most_members = plain.members.size() + plain.required.size();
  std::vector<NodeRef> members;
  std::vector<std::string_view> names;
  std::string is_required;
  members.reserve(most_members);
  names.reserve(most_members);
  const auto add = [&](std::string_view name, const std::optional<NodeRef>& value, bool has_to_be) {
    names.push_back(name);
    if (!value) return !has_to_be;
    WrittenString texts = written_string(name, notation_.is_serialized);
    NodeRef label = std::move(texts.raw);
    if (texts.ascii.get()) label = Node::union_of({std::move(label), std::move(texts.ascii)});
    members.push_back(is_ordered_ ? Node::concat({std::move(label), notation_.colon, *value})
                                  : Node::concat({Node::concat({std::move(label), notation_.colon}), *value}));
    is_required += has_to_be ? '1' : '0';
    return true;
  };
  for (std::size_t i = 0; i < plain.members.size(); ++i) {
    const std::string_view name = text[plain.members[i].first].text;
    if (!required_names.empty()) declared.insert(name);
    if (!add(name, inner(plain.targets[i]), required_names.contains(name))) return Node::empty();
  }
  for (Index name : plain.required) {
    if (!declared.contains(text[name].text) && !add(text[name].text, other, true)) return Node::empty();
  }
  NodeRef others = other ? Node::concat({other_label(std::move(names)), *other}) : Node::empty();
  NodeRef inside;
  if (is_ordered_) {
    inside = Node::ordered(std::move(members), std::move(is_required), std::move(others), notation_.comma, true);
  } else if (!members.empty() || other) {
    inside = Node::unordered(std::move(members), std::move(is_required), std::move(others), notation_.comma, 1,
                             Node::kUnbounded);
  } else {
    return notation_.empty_object;
  }
  NodeRef some = Node::concat({notation_.open_object, std::move(inside), notation_.close_object});
  return plain.required.empty() ? Node::union_of({notation_.empty_object, std::move(some)}) : some;
}

NodeRef PlainNodes::other_label(std::vector<std::string_view> names) const {
  if (names.empty()) return notation_.any_name;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<NodeRef> words;
  words.reserve(names.size());
  for (std::string_view word : names) words.push_back(Node::literal(std::string(word)));
  NodeRef others = Node::intersection({notation_.utf8, Node::complement(Node::union_of(std::move(words)))});
  NodeRef strings =
      Node::concat({notation_.quote, Node::json_string(std::move(others), notation_.is_serialized), notation_.quote});
  return Node::concat({std::move(strings), notation_.colon});
}

}  // namespace detent
