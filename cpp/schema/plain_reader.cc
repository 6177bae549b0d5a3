#include "schema/plain_reader.h"

#include <algorithm>

namespace detent {
namespace {

constexpr unsigned kDeepest = 200;
constexpr std::size_t kFirstNames = 4;
constexpr std::size_t kLongestClosed = 4000;  // bytes with white space; `emit/closed.py` counts without

using enum MemberRole;
constexpr Roles kTyped = kAnnotated | Roles::of(type);
constexpr Roles kConstrained = kTyped | Roles::of(constraint);
constexpr Roles kListing = kTyped | Roles::of(enumeration, constant);
constexpr Roles kUniting = kAnnotated | Roles::of(any_of, one_of);
constexpr Roles kOfObjects = Roles::of(properties, required, additional_properties);
constexpr Roles kOfArrays = Roles::of(items, additional_items, min_items, max_items, unique_items);
constexpr Roles kPlain = kTyped | kOfObjects | kOfArrays;

}  // namespace

std::unique_ptr<PlainReader> PlainReader::open(PlainSchemas& schemas, std::string text, std::size_t max_schemas) {
  auto owned = std::make_unique<const std::string>(std::move(text));
  std::optional<JsonText> values = JsonText::read(*owned);
  if (!values || !values->is_object(0)) return nullptr;
  const Index named = values->member(0, "$schema");
  if (named != kNone && ((*values)[named].kind != JsonKind::string || (*values)[named].text.empty())) return nullptr;
  const auto dialect = schemas.dialects_.find(named == kNone ? std::string() : std::string((*values)[named].text));
  if (dialect == schemas.dialects_.end() || !SchemaReferences::has_one_base(*values)) return nullptr;
  return std::unique_ptr<PlainReader>(
      new PlainReader(schemas, std::move(owned), std::move(*values), dialect->second, max_schemas));
}

PlainReader::PlainReader(PlainSchemas& schemas, std::unique_ptr<const std::string> text, JsonText values,
                         const SchemaDialect& dialect, std::size_t max_schemas)
    : schemas_(schemas),
      owned_(std::move(text)),
      text_(std::move(values)),
      dialect_(dialect),
      max_schemas_(max_schemas),
      references_(text_, schemas.roles_, dialect.year),
      known_(text_.size()),
      is_refused_(text_.size()),
      has_advice_inside_(text_.size()) {}

std::optional<PlainDocument> PlainReader::document() {
  std::optional<NodeRef> node = node_of(references_.follow(0), 0);
  if (!node) return std::nullopt;
  auto advice = advice_.sorted(text_, references_, plain_);
  if (!advice) return std::nullopt;
  PlainDocument found{std::move(*node), std::move(*advice), std::nullopt, {}, text_[0].count};
  const Index title = text_.member(0, "title");
  if (title != kNone && text_[title].kind == JsonKind::string) found.title = std::string(text_[title].text);
  for (Index at = text_.first(0); at < text_.after(0) && found.first_names.size() < kFirstNames;
       at = text_.after(at + 1)) {
    found.first_names.emplace_back(text_[at].text);
  }
  return found;
}

std::optional<NodeRef> PlainReader::schema_at(std::string_view pointer) {
  const Index found = references_.at(pointer);
  if (found == kNone || !text_.is_object(found)) return std::nullopt;
  const Index schema = references_.follow(found);
  std::optional<NodeRef> node = node_of(schema, 0);
  return needs_warning(schema) ? std::nullopt : node;
}

std::optional<NodeRef> PlainReader::node_of(Index schema, unsigned depth) {
  if (known_[schema]) return known_[schema];
  if (depth > kDeepest || is_refused_[schema]) return std::nullopt;  // refused: also a schema inside itself
  is_refused_[schema] = true;
  std::optional<PlainSchema> found = read_plain(schema);
  if (plain_count_ >= max_schemas_) return std::nullopt;
  if (!found) return known_[schema] = closed(schema);
  ++plain_count_;
  PlainSchema& plain = plain_[schema] = std::move(*found);
  std::vector<Index> open;
  for (Index target : plain.targets) {
    if (target == kNone || text_[target].kind == JsonKind::boolean || known_[target]) continue;
    known_[target] = scalar(target);
    if (!known_[target]) open.push_back(target);
  }
  // From the last to the first: the order in which the stack of the Python reader takes them.
  for (std::size_t i = open.size(); i-- > 0;) {
    if (!node_of(open[i], depth + 1)) return std::nullopt;
  }
  has_advice_inside_[schema] = std::ranges::any_of(
      plain_.at(schema).targets, [this](Index target) { return target != kNone && needs_warning(target); });
  return known_[schema] = schemas_.nodes_.whole(text_, plain_.at(schema), [this](Index inner) {
    if (inner == kNone || text_.is_true(inner)) return std::optional(schemas_.nodes_.anything());
    return text_.is_false(inner) ? std::nullopt : known_[inner];
  });
}

// The node of a small schema that refers to nothing.
std::optional<NodeRef> PlainReader::closed(Index schema) {
  if (schema == 0 || !text_.is_object(schema)) return std::nullopt;
  const std::string_view written = text_.written(schema);
  if (written.size() > kLongestClosed || written.find("\"$") != written.npos) return std::nullopt;
  return schemas_.closed_.node(written, dialect_.uri);
}

std::optional<PlainSchema> PlainReader::read_plain(Index schema) {
  if (!text_.is_object(schema)) return std::nullopt;
  const SchemaMembers members = schemas_.roles_.members(text_, schema);
  const bool is_root = schema == 0;
  if (members.roles.has(any_of) != members.roles.has(one_of)) return read_union(schema, members);
  PlainSchema plain;
  if (members.roles.has(type)) {
    const std::optional<unsigned> kinds = kinds_of(text_, members.of(type));
    if (!kinds) return std::nullopt;
    plain.kinds = *kinds;
  }
  if ((plain.kinds & kNumberKind) == kIntegerKind && dialect_.year <= kDraft4) return std::nullopt;
  std::vector<SchemaAdvice> advice;
  if (!asserts_nothing(members, kPlain, is_root, &advice)) return std::nullopt;
  if (members.roles.has_any(kOfObjects) && !plain.read_members(text_, members)) return std::nullopt;
  if (members.roles.has_any(kOfArrays) && !plain.read_items(text_, members)) return std::nullopt;
  if (plain.kinds == kEveryKind && !plain.has_condition(text_)) return std::nullopt;
  for (const auto& [name, inner] : plain.members) plain.targets.push_back(references_.follow(inner));
  plain.targets.push_back(plain.additional == kNone ? kNone : references_.follow(plain.additional));
  plain.targets.push_back(plain.items == kNone ? kNone : references_.follow(plain.items));
  advice_.note(schema, std::move(advice));
  return plain;
}

std::optional<PlainSchema> PlainReader::read_union(Index schema, const SchemaMembers& members) {
  PlainSchema plain;
  plain.unites = members.roles.has(any_of) ? any_of : one_of;
  const Index options = members.of(plain.unites);
  if (text_[options].kind != JsonKind::array || text_[options].count < 2) return std::nullopt;
  if (!asserts_nothing(members, kUniting, schema == 0, nullptr)) return std::nullopt;
  unsigned seen = 0;
  for (Index option = text_.first(options); option < text_.after(options); option = text_.after(option)) {
    if (!text_.is_object(option) || text_[option].count == 0) return std::nullopt;
    const Index target = references_.follow(option);
    const Index named = text_.is_object(target) ? text_.member(target, "type") : kNone;
    plain.targets.push_back(target);
    if (plain.unites == one_of) {
      const unsigned kinds = named == kNone ? 0 : kinds_of(text_, named).value_or(0);
      if (kinds == 0 || (seen & kinds) != 0) return std::nullopt;
      seen |= kinds;
      continue;
    }
    if (!text_.is_object(target)) return std::nullopt;
    const Index own = text_.member(option, "type");
    const unsigned kind = own != kNone && text_[own].kind == JsonKind::string ? kind_named(text_[own].text) : 0;
    if (!is_scalar_kind(kind)) continue;
    // Two scalar types may not repeat; `integer` and `number` count as two types although they overlap.
    const unsigned bit = kind == kNumberKind ? kNumberKind & ~kIntegerKind : kind;
    if ((seen & bit) != 0) return std::nullopt;
    seen |= bit;
  }
  return plain;
}

// The node of a schema of one scalar type, or of every value; nothing for any other schema.
std::optional<NodeRef> PlainReader::scalar(Index schema) {
  if (!text_.is_object(schema)) return std::nullopt;
  const SchemaMembers members = schemas_.roles_.members(text_, schema);
  const Index named = members.of(type);
  const bool is_named = named != kNone && text_[named].kind == JsonKind::string;
  const unsigned kind = is_named ? kind_named(text_[named].text) : 0;
  const bool is_one = is_scalar_kind(kind);
  if (is_one && members.roles.without(kTyped).empty()) return schemas_.nodes_.scalar(kind, dialect_.year);
  if (members.roles.without(kAnnotated).empty()) return schemas_.nodes_.anything();
  std::vector<SchemaAdvice> advice;
  std::optional<NodeRef> found;
  if (members.roles.has_any(Roles::of(enumeration, constant))) {
    found = listed(members, advice);
  } else if (is_one) {
    found = constrained(schema, members, advice);
  }
  if (found) advice_.note(schema, std::move(advice));
  return found;
}

std::optional<NodeRef> PlainReader::listed(const SchemaMembers& members, std::vector<SchemaAdvice>& advice) {
  const Index named = members.of(type), listing = members.of(enumeration), only = members.of(constant);
  if (named != kNone && (text_[named].kind != JsonKind::string || text_[named].text != "string")) return std::nullopt;
  if (!asserts_nothing(members, kListing, false, &advice)) return std::nullopt;
  std::vector<std::string_view> strings;
  if (only == kNone) {
    if (text_[listing].kind != JsonKind::array || text_[listing].count == 0) return std::nullopt;
    for (Index at = text_.first(listing); at < text_.after(listing); at = text_.after(at)) {
      if (text_[at].kind != JsonKind::string) return std::nullopt;
      strings.push_back(text_[at].text);
    }
  } else {
    if (listing != kNone || dialect_.year < kDraft6 || text_[only].kind != JsonKind::string) return std::nullopt;
    strings.push_back(text_[only].text);
  }
  std::sort(strings.begin(), strings.end());
  strings.erase(std::unique(strings.begin(), strings.end()), strings.end());
  return schemas_.nodes_.listed(strings);
}

std::optional<NodeRef> PlainReader::constrained(Index schema, const SchemaMembers& members,
                                                std::vector<SchemaAdvice>& advice) {
  if (!asserts_nothing(members, kConstrained, false, &advice)) return std::nullopt;
  std::string own = "{";
  for (Index name = text_.first(schema); name < text_.after(schema); name = text_.after(name + 1)) {
    const MemberRole role = schemas_.roles_.role(text_[name].text);
    if (role != constraint && role != type) continue;
    const JsonValue& argument = text_[name + 1];
    if (text_[name].text == "format" && argument.kind == JsonKind::string &&
        !schemas_.formats_.contains(std::string(argument.text))) {
      advice_.note_format(schema, argument.text);
      continue;
    }
    if (own.size() > 1) own += ',';
    own.append(text_.written(name)).append(":").append(text_.written(name + 1));
  }
  return schemas_.constrained_.node(own + '}', dialect_.uri);
}

bool PlainReader::asserts_nothing(const SchemaMembers& members, Roles beside, bool is_root,
                                  std::vector<SchemaAdvice>* advice) {
  const Roles allowed = beside | Roles::of(definitions, unknown) | (is_root ? Roles::of(identifier) : Roles{});
  if (!members.roles.without(allowed).empty()) return false;
  if (members.roles.has(definitions) && !members.has_sound_definitions) return false;
  for (Index name : members.unknown) {
    std::string meant = schemas_.intended(text_[name].text);
    if (meant.empty()) continue;
    if (!advice) return false;
    advice->push_back({std::string(text_[name].text), {}, std::move(meant)});
  }
  return true;
}

}  // namespace detent
