"""Where pipelines meet the caches around Triton's compiler.

Triton's stage hook covers the disk cache and the in-process cache of a launch. Everything here closes a way around
it: compilation in executor threads, tuning results, recorded specializations, the compile warm-up pool, and kernels
that opt in by what they use and not by where they are launched. All of it passes through with no pipeline active.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
import re
import threading
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import triton
from triton import knobs
from triton.compiler import compiler
from triton.runtime import _async_compile, autotuner, jit

from tritonext import _import_hook, _torch, activation
from tritonext.errors import PipelineError, TritonextError
from tritonext.manifest import STAGES

__all__ = ["MARKER", "install", "install_opt_in"]

MARKER = "tritonext:extension:"
"""Prefix of the entries that ops of extensions leave among the globals a kernel is known to use."""

_KEY = re.compile(rb"tritonext-([0-9a-f]{64})")
_SPECIALIZATION = re.compile(r'\("custom_pipeline", ([^)]*)\)')
_PAYLOAD = "tritonext pipelines"
_POOL = "triton._compile_warmup_pool"

_lock = threading.RLock()
_installed = False
_opt_in_installed = False


# --- kernels that opt themselves in ----------------------------------------------------------------------------------


def _compile(original: Callable) -> Callable:
    """Return ``triton.compile`` that activates what the kernel itself asks for."""

    @functools.wraps(original)
    def compile(src: Any, target: Any = None, options: Any = None, _env_vars: Any = None) -> Any:
        wanted = _wanted_by(src)
        if not wanted:
            return original(src, target, options, _env_vars)
        return activation.run_with(wanted, original, src, target, options, _env_vars)

    return compile


def _wanted_by(src: Any) -> tuple:
    """Return the pipelines of the decorated kernel ``src``, and those of extensions whose ops it reaches."""
    function = getattr(src, "fn", None)
    if function is None:
        _warn_about_skipped_stages(src)
        return ()
    wanted = getattr(function, "tritonext_pipelines", ())
    known = {pipeline.extension for pipeline in (*activation.active(), *wanted)}
    used = extensions_used(function, *src.constants.values())
    return (*wanted, *map(_default_pipeline, sorted(used - known)))


@functools.cache
def _default_pipeline(identifier: str) -> Any:
    (pipeline,) = activation.prepare([identifier], "an op")
    return pipeline


def extensions_used(*functions: Any) -> set[str]:
    """Return the ids of the extensions whose ops kernels reach, also through other ``@triton.jit`` functions."""
    used: set[str] = set()
    for function in functions:
        if isinstance(function, jit.JITCallable):
            # Computing the key is what follows the references of the kernel.
            function.cache_key  # noqa: B018
            used |= {name.removeprefix(MARKER) for name, _ in function.used_global_vals if name.startswith(MARKER)}
    return used


def _warn_about_skipped_stages(src: Any) -> None:
    """Say that Triton skips the stages in front of an IR file, with whatever pipelines change there."""
    suffix = str(src).rpartition(".")[2]
    skipped = STAGES[: STAGES.index(suffix) + 1] if suffix in STAGES else STAGES
    for pipeline in activation.active():
        lost = sorted({step.stage for step in pipeline.steps if step.stage in skipped})
        if lost:
            warnings.warn(
                f"compiling {src} skips the stages up to its own, so the steps of the pipeline {pipeline.name!r} "
                f"in {', '.join(lost)} have no effect",
                stacklevel=4,
            )


def install_opt_in() -> None:
    """Put the wrapper over ``triton.compile``; later calls do nothing."""
    global _opt_in_installed
    with _lock:
        if _opt_in_installed:
            return
        original = compiler.compile
        wrapper = _compile(original)
        for module in (compiler, triton.compiler, triton):
            module.compile = wrapper

        def get(self: Any) -> Callable:
            # A kernel that was launched before keeps a reference to the function itself.
            value = self.__dict__.get("compile")
            if value is None:
                raise AttributeError("compile")
            return wrapper if value is original else value

        def put(self: Any, value: Callable) -> None:
            self.__dict__["compile"] = value

        jit.JITFunction.compile = property(get, put)
        _torch.install()
        _opt_in_installed = True


# --- compilation in executor threads ---------------------------------------------------------------------------------


def _submit(original: Callable) -> Callable:
    """Return ``AsyncCompileMode.submit`` that compiles in the pipelines of the submitting context.

    Triton's key of a pending compilation does not cover the stage hook, so the state's key is added to it.
    """

    @functools.wraps(original)
    def submit(self: Any, key: str, compile_fn: Callable, finalize_fn: Callable, cleanup_fn: Callable) -> Any:
        state = activation.current()
        if state is not None:
            key = f"{key}-{state.key}"
        pinned = functools.partial(activation.run_pinned, state, compile_fn)
        return original(self, key, pinned, finalize_fn, cleanup_fn)

    return submit


# --- recorded specializations ----------------------------------------------------------------------------------------


def _preload(original: Callable) -> Callable:
    """Return ``JITFunction.preload`` that refuses data recorded under other pipelines than the active ones.

    The in-process key is part of that data: the kernel would be kept under the key of another pipeline.
    """

    @functools.wraps(original)
    def preload(self: Any, specialization_data: str) -> Any:
        recorded = _SPECIALIZATION.search(json.loads(specialization_data)["key"])
        hook = knobs.runtime.add_stages_inspection_hook
        found, expected = recorded[1] if recorded else "", hook()[1] if hook is not None else ""
        if found != expected and "tritonext-" in found + expected:
            raise PipelineError(
                "the specialization was recorded under other pipelines than the active ones",
                where=f"kernel {self.__name__}",
                expected=expected or "no pipeline",
                found=found or "no pipeline",
                hint="activate the same pipelines around preload as around the launch that recorded it",
            )
        return original(self, specialization_data)

    return preload


# --- tuning results --------------------------------------------------------------------------------------------------


def _tuned(self: Any) -> dict:
    """``Autotuner.cache``: what was tuned under one pipeline says nothing about another."""
    state = activation.current()
    if state is None:
        return self.__dict__["cache"]
    return self.__dict__.setdefault("tritonext_caches", {}).setdefault(state.key, {})


def _set_tuned(self: Any, value: dict) -> None:
    self.__dict__["cache"] = value


_tuned_under: ContextVar[tuple] = ContextVar("tritonext_tuned_under", default=())


def _check_disk_cache(original: Callable) -> Callable:
    """Return ``Autotuner.check_disk_cache`` that knows the pipelines of a decorated kernel."""

    @functools.wraps(original)
    def check_disk_cache(self: Any, *args: Any) -> bool:
        token = _tuned_under.set(getattr(_innermost(self), "tritonext_pipelines", ()))
        try:
            return original(self, *args)
        finally:
            _tuned_under.reset(token)

    return check_disk_cache


def _tuning_key(original: Callable[[], str]) -> Callable[[], str]:
    """Return the part of the autotuner's disk key that identifies the compiler, with the active pipelines in it."""

    @functools.wraps(original)
    def triton_key() -> str:
        state = activation.state_with(_tuned_under.get())
        return original() if state is None else f"{original()}-{state.key}"

    return triton_key


def _innermost(kernel: Any) -> Any:
    """Return the ``@triton.jit`` function inside autotuners and heuristics."""
    while not isinstance(kernel, jit.JITFunction) and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


# --- the compile warm-up pool ----------------------------------------------------------------------------------------


def _install_in_pool(pool: Any) -> None:
    """Let the warm-up pool send the pipelines a kernel was captured under to the worker that compiles it."""
    capture = pool.ProcessPoolWarmupDispatcher._capture_preloads

    @functools.wraps(capture)
    def capture_preloads(self: Any, instrumentation_mode: str, environment: dict, kernel: Any, *args: Any) -> list:
        # The pool keeps pickled kernels by name and source, which a decorated kernel shares with the plain one.
        payloads = self._serialized_function_payloads
        if hasattr(_innermost(kernel), "tritonext_kernel"):
            self._serialized_function_payloads = {}
        try:
            captures = capture(self, instrumentation_mode, environment, kernel, *args)
        finally:
            self._serialized_function_payloads = payloads
        return [_with_pipelines(self, captured) for captured in captures]

    reduce = pool._JITFunctionPickler.reducer_override

    @functools.wraps(reduce)
    def reducer_override(self: Any, obj: Any) -> Any:
        # Sent by value, a decorated kernel would arrive as the plain one it was made of.
        if isinstance(obj, jit.JITFunction) and hasattr(obj, "tritonext_kernel") and not _importable(pool, obj):
            return _decorated_again, (obj.tritonext_kernel, obj.tritonext_pipelines)
        return reduce(self, obj)

    pool.ProcessPoolWarmupDispatcher._capture_preloads = capture_preloads
    pool._JITFunctionPickler.reducer_override = reducer_override
    pool.tritonext_preload_worker = pool._preload_worker
    pool._preload_worker = preload_worker


def _importable(pool: Any, kernel: Any) -> bool:
    return pool._jit_callable_import_path(kernel) is not None


def _decorated_again(kernel: Any, pipelines: tuple) -> Any:
    return activation.decorate(activation.prepare(pipelines, "the warm-up pool"), kernel)


def _with_pipelines(dispatcher: Any, captured: Any) -> Any:
    # The in-process key says under which pipelines the capture was made.
    match = _KEY.search(captured.compile_context_bytes)
    state = activation.known_state(match[1].decode()) if match else None
    if state is None:
        return captured
    where = "kernel " + (captured.qualified_name or "defined in the running script")
    if dispatcher._executor is None:
        raise PipelineError(
            "a shared warm-up coordinator cannot compile under pipelines",
            where=where,
            expected="a dispatcher with a pool of its own",
            hint="unset TRITON_WARMUP_COORDINATOR, or leave the pipelines while warming up",
        )
    import cloudpickle

    try:
        payload = base64.b64encode(cloudpickle.dumps(state.pipelines)).decode()
    except Exception as error:
        raise PipelineError(
            "the active pipelines cannot be sent to a warm-up worker",
            where=where,
            found=f"{type(error).__name__}: {error}",
            hint="use module-level functions in wrap_stage, replace_stage and replace_pipeline",
        ) from error
    return dataclasses.replace(captured, environment={**captured.environment, _PAYLOAD: payload})


def preload_worker(
    module_name: str | None,
    qualified_name: str | None,
    fn_bytes: bytes | None,
    compile_context_bytes: bytes,
    kernel_repr: str,
    instrumentation_mode: str,
    environment: dict[str, str],
    *rest: Any,
) -> Any:
    """Compile one captured kernel in a worker of the warm-up pool, under the pipelines it was captured under."""
    import cloudpickle
    from triton import _compile_warmup_pool as pool

    environment = dict(environment)
    payload = environment.pop(_PAYLOAD, None)
    # A worker in which nothing is active yet has Triton's own function under its own name.
    worker = getattr(pool, "tritonext_preload_worker", pool._preload_worker)
    task = (module_name, qualified_name, fn_bytes, compile_context_bytes, kernel_repr, instrumentation_mode)
    if payload is None:
        return activation.run_pinned(None, worker, *task, environment, *rest)
    try:
        pipelines = activation.prepare(cloudpickle.loads(base64.b64decode(payload)), "the warm-up pool")
    except TritonextError as error:
        raise PipelineError(
            "the pipelines of the warm-up pool cannot be activated in its worker",
            where=f"kernel {kernel_repr}",
            details=str(error).splitlines(),
        ) from error
    return activation.run_pinned(activation.state_of(pipelines), worker, *task, environment, *rest)


def install() -> None:
    """Put every wrapper in place; later calls do nothing."""
    global _installed
    install_opt_in()
    with _lock:
        if _installed:
            return
        _async_compile.AsyncCompileMode.submit = _submit(_async_compile.AsyncCompileMode.submit)
        jit.JITFunction.preload = _preload(jit.JITFunction.preload)
        autotuner.Autotuner.cache = property(_tuned, _set_tuned)
        autotuner.Autotuner.check_disk_cache = _check_disk_cache(autotuner.Autotuner.check_disk_cache)
        autotuner.triton_key = _tuning_key(autotuner.triton_key)
        _import_hook.when_imported(_POOL, _install_in_pool)
        _installed = True
