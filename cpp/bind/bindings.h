// The parts of the module detent._core, one for each noun.
#pragma once

#include <nanobind/nanobind.h>

namespace detent {

void bind_errors();
void bind_nodes(nanobind::module_& m);
void bind_schemas(nanobind::module_& m);
void bind_vocabulary(nanobind::module_& m);
void bind_tokenizer(nanobind::module_& m);
void bind_automaton(nanobind::module_& m);
void bind_machines(nanobind::module_& m);
void bind_matcher(nanobind::module_& m);
void bind_logits(nanobind::module_& m);

}  // namespace detent
