"""The ways in which each engine writes texts: without a rule, held by detent, and held by the engine's own backend."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import detent
from tests.integrations.engines.cases import SCHEMA, WORDS, cases, chat_ids, embedded_model

LIMIT = 64
COLOURS = ["red", "green", "blue"]
KINDS = ("json", "regex", "choice")


@dataclass
class Written:
    """A text, how many tokens it took, end-of-text included, and whether it ended."""

    text: str
    token_count: int
    ended: bool


#: From the kind of a rule and prompts to the texts.
Way = Callable[[str, Sequence[str]], list[Written]]


def one_by_one(write: Callable[[str, list[int]], Written]) -> Way:
    """Return a way that writes a text after the other, from the ids of the prompts."""
    return lambda kind, prompts: [write(kind, chat_ids(prompt)) for prompt in prompts]


def of_ids(ids: Sequence[int]) -> Written:
    """Return the text of the ids that the embedded model wrote."""
    vocabulary = embedded_model().vocabulary
    ended = bool(ids) and ids[-1] in vocabulary.eos_token_ids
    text = vocabulary.decode(list(ids[:-1] if ended else ids)).decode("utf-8", "replace")
    return Written(text, len(ids), ended)


def compiled(vocabulary: detent.Vocabulary) -> dict[str, detent.Guide]:
    """Return a guide for each kind."""
    return {kind: detent.compile(cases()[kind].rule, vocabulary, canonical=True) for kind in KINDS}


def detent_loop(model: Any) -> Way:
    """Return detent's own loop."""
    guides = compiled(model.vocabulary)

    def write(kind: str, ids: list[int]) -> Written:
        out = detent.generate(model, ids, guides[kind], max_tokens=LIMIT, temperature=0)
        ended = out.finish_reason == "stop"
        return Written(out.text, len(out.token_ids) + ended, ended)

    return one_by_one(write)


def llama_cpp_ways(path: str) -> dict[str, Way]:
    """Return the ways of llama-cpp-python."""
    import llama_cpp

    from detent.integrations.llama_cpp import LlamaCpp, LogitsProcessor

    llama = llama_cpp.Llama(path, n_ctx=512, n_threads=1, verbose=False)
    vocabulary = embedded_model().vocabulary
    guides = compiled(vocabulary)
    gbnf = {
        "json": llama_cpp.LlamaGrammar.from_json_schema(json.dumps(SCHEMA), verbose=False),
        "regex": llama_cpp.LlamaGrammar.from_string(
            r'root ::= [A-Z] [a-z]{2,9} (" " [a-z]{1,9}){0,3} "."', verbose=False
        ),
        "choice": llama_cpp.LlamaGrammar.from_string('root ::= "red" | "green" | "blue"', verbose=False),
    }

    def own(ids: list[int], **options: Any) -> Written:
        out = llama(ids, max_tokens=LIMIT, temperature=0.0, **options)
        found = out["choices"][0]
        return Written(found["text"], out["usage"]["completion_tokens"], found["finish_reason"] == "stop")

    def processed(kind: str, ids: list[int]) -> Written:
        processor = LogitsProcessor(guides[kind], vocabulary)
        return own(ids, logits_processor=llama_cpp.LogitsProcessorList([processor]))

    return {
        "no rule": one_by_one(lambda kind, ids: own(ids)),
        "its loop, detent's processor": one_by_one(processed),
        "its loop, its GBNF": one_by_one(lambda kind, ids: own(ids, grammar=gbnf[kind])),
        "detent's loop": detent_loop(LlamaCpp(llama, vocabulary)),
    }


def mlx_ways(path: str) -> dict[str, Way]:
    """Return the ways of mlx-lm, which has no backend of its own."""
    import mlx_lm

    from detent.integrations.mlx import LogitsProcessor, MlxModel

    network, tokenizer = mlx_lm.load(path)
    model = MlxModel(network, tokenizer)
    guides = compiled(model.vocabulary)

    def own(kind: str | None, ids: list[int]) -> Written:
        processors = [] if kind is None else [LogitsProcessor(guides[kind], model.vocabulary)]
        steps = mlx_lm.stream_generate(network, tokenizer, ids, max_tokens=LIMIT, logits_processors=processors)
        return of_ids([each.token for each in steps])

    return {
        "no rule": one_by_one(lambda kind, ids: own(None, ids)),
        "its loop, detent's processor": one_by_one(own),
        "detent's loop": detent_loop(model),
    }


def onnx_ways(path: str) -> dict[str, Way]:
    """Return the ways of ONNX Runtime GenAI, whose own guidance is llguidance."""
    import onnxruntime_genai

    from detent.integrations.onnxruntime import OnnxModel

    model = OnnxModel(path, size=512)
    own_rules = {
        "json": ("json_schema", json.dumps(SCHEMA)),
        "regex": ("regex", WORDS),
        "choice": ("lark_grammar", "start: " + " | ".join(f'"{colour}"' for colour in COLOURS)),
    }

    def own(kind: str | None, ids: list[int]) -> Written:
        parameters = onnxruntime_genai.GeneratorParams(model.model)
        parameters.set_search_options(max_length=512, batch_size=1, do_sample=False)
        if kind is not None:
            parameters.set_guidance(*own_rules[kind])
        generator = onnxruntime_genai.Generator(model.model, parameters)
        generator.append_tokens(np.array(ids, dtype=np.int32))
        found: list[int] = []
        while not generator.is_done() and len(found) < LIMIT:
            generator.generate_next_token()
            found.append(int(generator.get_next_tokens()[0]))
        return of_ids(found)

    return {
        "no rule": one_by_one(lambda kind, ids: own(None, ids)),
        "its loop, its llguidance": one_by_one(own),
        "detent's loop": detent_loop(model),
    }


def transformers_ways(path: str) -> dict[str, Way]:
    """Return the ways of transformers; it has no backend, so xgrammar's own processor stands beside, if installed."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from detent.integrations.custom_generate import CustomGenerate
    from detent.integrations.transformers import LogitsProcessor

    torch.set_num_threads(1)
    network: Any = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    network.eval()
    vocabulary = embedded_model().vocabulary
    guides = compiled(vocabulary)
    custom = {kind: CustomGenerate(guides[kind], vocabulary) for kind in KINDS}

    def own(ids: list[int], **options: Any) -> Written:
        prompt = torch.tensor([ids])
        row = network.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=LIMIT, do_sample=False, **options
        )
        return of_ids(row[0, len(ids) :].tolist())

    ways = {
        "no rule": one_by_one(lambda kind, ids: own(ids)),
        "its loop, detent's processor": one_by_one(
            lambda kind, ids: own(ids, logits_processor=[LogitsProcessor(guides[kind])])
        ),
        "detent's loop (custom_generate)": one_by_one(lambda kind, ids: own(ids, custom_generate=custom[kind])),
    }
    try:
        import xgrammar
        from xgrammar.contrib.hf import LogitsProcessor as XgrammarProcessor
    except ModuleNotFoundError:
        return ways
    tokenizer = AutoTokenizer.from_pretrained(path)
    compiler = xgrammar.GrammarCompiler(
        xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=network.config.vocab_size)
    )
    grammars = {
        "json": compiler.compile_json_schema(json.dumps(SCHEMA)),
        "regex": compiler.compile_regex(WORDS),
        "choice": compiler.compile_grammar("root ::= " + " | ".join(f'"{colour}"' for colour in COLOURS)),
    }
    ways["its loop, xgrammar's processor"] = one_by_one(
        lambda kind, ids: own(ids, logits_processor=[XgrammarProcessor(grammars[kind])])
    )
    return ways


def outlines_ways(path: str) -> dict[str, Way]:
    """Return the ways of Outlines on transformers."""
    import outlines
    import torch
    from outlines import backends
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from detent.integrations.engine import Constraint
    from detent.integrations.outlines import DetentBackend

    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(path)
    network: Any = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    network.eval()
    model = outlines.from_transformers(network, tokenizer)
    backend = DetentBackend(model)
    texts = {kind: Constraint(cases()[kind].rule) for kind in KINDS}

    def core(kind: str) -> Any:
        if kind == "json":
            return backends.get_json_schema_logits_processor("outlines_core", model, json.dumps(SCHEMA))
        return backends.get_regex_logits_processor(
            "outlines_core", model, WORDS if kind == "regex" else "|".join(COLOURS)
        )

    def way(make: Callable[[str], Any]) -> Way:
        made = {kind: outlines.Generator(model, processor=make(kind)) for kind in KINDS}

        def write(kind: str, ids: list[int]) -> Written:
            text = made[kind](tokenizer.decode(ids), max_new_tokens=LIMIT, do_sample=False)
            count = len(tokenizer(text)["input_ids"]) + 1
            return Written(text, count, count <= LIMIT)

        return one_by_one(write)

    return {"detent": way(lambda kind: backend.get_processor(texts[kind])), "outlines_core": way(core)}


def vllm_ways(path: str) -> dict[str, Way]:
    """Return the ways of vLLM: an engine for each backend, in one process, with one request at a time and with all."""
    os.environ |= {"VLLM_PLUGINS": "detent", "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1"}
    from vllm.v1 import structured_output
    from vllm.v1.structured_output import backend_guidance

    own = backend_guidance.GuidanceBackend, backend_guidance.validate_guidance_grammar  # before the plugin acts
    import vllm
    from vllm.sampling_params import StructuredOutputsParams

    from detent.integrations.vllm import DetentBackend, validate_request

    @contextmanager
    def served_by(name: str) -> Iterator[None]:
        """Have the backend "guidance" be detent, or vLLM's own."""
        replaced: Any = structured_output
        found = own if name == "llguidance" else (DetentBackend, validate_request)
        replaced.GuidanceBackend, backend_guidance.validate_guidance_grammar = found
        yield

    def engine(name: str) -> Any:
        with served_by(name):
            return vllm.LLM(
                path,
                max_model_len=512,
                max_num_seqs=8,
                enforce_eager=True,
                dtype="float32",
                structured_outputs_config={"backend": "xgrammar" if name == "xgrammar" else "guidance"},
            )

    engines = {name: engine(name) for name in ("detent", "xgrammar", "llguidance")}
    rules = {"json": SCHEMA, "regex": WORDS, "choice": COLOURS}

    def write(name: str, kind: str | None, prompts: list[list[int]]) -> list[Written]:
        rule = None if kind is None else StructuredOutputsParams(**{kind: rules[kind]})
        parameters = vllm.SamplingParams(max_tokens=LIMIT, temperature=0.0, structured_outputs=rule)
        with served_by(name):
            found = engines[name].generate([{"prompt_token_ids": ids} for ids in prompts], parameters, use_tqdm=False)
        outs = [each.outputs[0] for each in found]
        return [Written(out.text, len(out.token_ids), out.finish_reason == "stop") for out in outs]

    ways: dict[str, Way] = {}
    for name, ruled in (("detent", False), *((name, True) for name in engines)):

        def together(kind: str, prompts: Sequence[str], name: str = name, ruled: bool = ruled) -> list[Written]:
            return write(name, kind if ruled else None, [chat_ids(prompt) for prompt in prompts])

        def alone(kind: str, ids: list[int], name: str = name, ruled: bool = ruled) -> Written:
            return write(name, kind if ruled else None, [ids])[0]

        label = name if ruled else "no rule"
        ways |= {label: one_by_one(alone), f"{label}, together": together}
    return ways


def jax_ways(path: str) -> dict[str, Way]:
    """Return the ways of JAX: the compiled loop of `examples/table_jax_loop.py`, with a table and without."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    from detent.jax import init, process
    from detent.models.safetensors import read_safetensors

    example = import_module("examples.table_jax_loop")
    layers, shared, size, network = len(example.LAYERS), example.SHARED, example.SIZE, example.network
    vocabulary = embedded_model().vocabulary
    rules = [cases()[kind].rule for kind in KINDS]  # canonical tokens would take too many states
    table = detent.stack_tables([detent.compile(rule, vocabulary).to_table() for rule in rules])
    weights = {
        name: jnp.asarray(array) for name, array in read_safetensors(example.FOLDER / "model.safetensors").items()
    }
    end = vocabulary.eos_token_ids[0]
    width = 128

    @jax.jit
    def decode(prompt: Any, length: Any, state: Any) -> Any:
        """Return tokens[width], of which the first `length` are the prompt."""
        cache = jnp.zeros((layers, 2, 1, width, shared, size))

        def step(carry: Any) -> Any:
            position, tokens, cache, state = carry
            logits, cache = network(weights, cache, tokens[None, position], position)

            def choose(state: Any) -> Any:
                masked, state = (logits, None) if state is None else process(state, logits, tokens[None, position])
                return masked.argmax(axis=1).astype(tokens.dtype)[0], state

            chosen, state = lax.cond(position >= length - 1, choose, lambda state: (tokens[position + 1], state), state)
            return position + 1, tokens.at[position + 1].set(chosen), cache, state

        def goes_on(carry: Any) -> Any:
            position, tokens, _, _ = carry
            return (position < length) | ((tokens[position] != end) & (position < length + LIMIT))

        return lax.while_loop(goes_on, step, (jnp.asarray(0), prompt, cache, state))[1]

    def own(kind: str | None, ids: list[int]) -> Written:
        state = None if kind is None else init(table, [KINDS.index(kind)], max_tokens=LIMIT - 1)
        prompt = jnp.zeros(width, jnp.int32).at[: len(ids)].set(jnp.asarray(ids))
        found = np.asarray(decode(prompt, len(ids), state))[len(ids) : len(ids) + LIMIT].tolist()
        return of_ids(found[: found.index(end) + 1] if end in found else found)

    return {
        "no rule": one_by_one(lambda kind, ids: own(None, ids)),
        "detent's table": one_by_one(own),
    }


ENGINES: dict[str, Callable[[str], dict[str, Way]]] = {
    "jax": jax_ways,
    "llama-cpp": llama_cpp_ways,
    "mlx": mlx_ways,
    "onnxruntime": onnx_ways,
    "outlines": outlines_ways,
    "transformers": transformers_ways,
    "vllm": vllm_ways,
}
