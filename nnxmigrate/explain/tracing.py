"""Errors of JAX itself that NNX code meets: tracing, shapes, static arguments, gradients."""

from __future__ import annotations

from nnxmigrate.explain.entry import Entry, Wording

_STATIC = r"static_arg|jit"
_EVERY = "every version"

ENTRIES = (
    Entry(
        "branch-on-tracer",
        "Python branches on a value that is only known when the compiled function runs",
        (
            Wording(r"TracerBoolConversionError"),
            Wording(r"Attempted boolean conversion of traced array"),
        ),
        "`if`, `while`, `assert`, `and`, `or`, `not`, `in`, `max` … ask a traced array for a Python truth value.",
        "Use jnp.where, jax.lax.cond or nnx.cond; make a flag such as `train` static "
        "(`@nnx.jit(static_argnames='train')`).",
        _EVERY,
    ),
    Entry(
        "concretize-tracer",
        "a traced array is turned into a Python number",
        (
            Wording(r"Abstract tracer value encountered where concrete value is expected"),
            Wording(r"TracerIntegerConversionError"),
            Wording(r"ConcretizationTypeError"),
            Wording(r"The __index__\(\) method was called on traced array"),
        ),
        "float(), int(), .item(), .tolist(), math functions, range() and list indices need the value while the "
        "function is being compiled.",
        "Stay with arrays (`x.astype(float)`, jnp instead of math), convert outside of the compiled function, or make "
        "the argument static.",
        _EVERY,
    ),
    Entry(
        "dynamic-shape",
        "a shape depends on a traced value",
        (
            Wording(r"Shapes must be 1D sequences of concrete values of integer type, got"),
            Wording(r"Abstract tracer value encountered where concrete value is expected.*jnp\.\w+ arg"),
            Wording(r"Array slice indices must have static start/stop/step"),
            Wording(r"Slice entries must be static integers"),
        ),
        "The sizes of all arrays are fixed when a function is compiled.",
        "Make the size a static argument (`static_argnames`), take it from `x.shape`, or use "
        "jax.lax.dynamic_slice with a fixed size.",
        _EVERY,
    ),
    Entry(
        "boolean-mask",
        "an array is indexed with a traced boolean mask",
        (
            Wording(r"NonConcreteBooleanIndexError"),
            Wording(r"Array boolean indices must be concrete"),
        ),
        "The size of `x[mask]` depends on the values of the mask.",
        "Use jnp.where(mask, x, other), or `jnp.where(mask, new, x)` for `x.at[mask].set(new)`.",
        _EVERY,
    ),
    Entry(
        "data-dependent-size",
        "the size of a result depends on values",
        (
            Wording(
                r"Abstract tracer value encountered where concrete value is expected.*size argument of jnp\.\w+ must"
            ),
            Wording(
                r"Abstract tracer value encountered where concrete value is expected.*first argument of jnp\.\w+\(\)\. "
                r"To make jnp\.\w+\(\) compatible with JIT"
            ),
            Wording(r"size argument of jnp\.\w+ must be statically specified"),
        ),
        "nonzero, argwhere, unique, where with one argument, bincount and repeat return as many elements as they find.",
        "Give the size, `jnp.nonzero(x, size=N, fill_value=0)`, or use jnp.where with three arguments.",
        _EVERY,
    ),
    Entry(
        "numpy-on-tracer",
        "a numpy function got a traced array",
        (
            Wording(r"TracerArrayConversionError"),
            Wording(r"The numpy\.ndarray conversion method __array__\(\) was called on traced array"),
        ),
        "numpy needs the values, which are not known while the function is being compiled.",
        "Use the function of jax.numpy.",
        _EVERY,
    ),
    Entry(
        "leaked-tracer",
        "a traced value outlives the function it was traced in",
        (
            Wording(r"UnexpectedTracerError"),
            Wording(r"Encountered an unexpected tracer"),
        ),
        "A compiled function wrote to a global, a closure, a list or an attribute of a captured object; also "
        "`self.h = h` in a module's call.",
        "Return the value. Keep state in an nnx.Variable of a module that is passed as an argument to nnx.jit.",
        _EVERY,
    ),
    Entry(
        "string-argument",
        "a function under jit got an argument that is no array",
        (
            Wording(
                r"Error interpreting argument to .* as an abstract array\. The problematic value is of type "
                r"<class '(str|function|type|method|builtin_function_or_method)'>"
            ),
            Wording(r"(Cannot interpret value of type|Argument .* of type) <class '(str|function|type|method)'>"),
        ),
        "jit traces all arguments that are not static; text and functions cannot be traced.",
        "Make it static: `@nnx.jit(static_argnames='mode')` or `functools.partial(nnx.jit, static_argnames='mode')`.",
        _EVERY,
    ),
    Entry(
        "static-unhashable",
        "a static argument cannot be hashed",
        (
            Wording(r"Non-hashable static arguments are not supported"),
            Wording(r"Static argument .* is required to be hashable"),
            Wording(r"unhashable type: '(list|dict|set|ndarray|numpy\.ndarray|[\w.]*ArrayImpl)'", _STATIC),
        ),
        "jit compares static arguments by hash and equality; lists, dicts and arrays have no hash.",
        "Pass a tuple, or do not make the argument static.",
        _EVERY,
    ),
    Entry(
        "loop-keywords",
        "fori_loop is called with `start` and `stop`",
        (Wording(r"fori_loop\(\) got an unexpected keyword argument"),),
        "Its arguments are lower, upper, body_fun and init_val.",
        "Write `jax.lax.fori_loop(lower, upper, body_fun, init_val)`.",
        _EVERY,
    ),
    Entry(
        "jit-keywords",
        "jit is called with an argument it does not have",
        (
            Wording(r"jit\(\) got an unexpected keyword argument 'static_arg(num|name)'"),
            Wording(r"Jitted function has invalid argnames .* in static_argnames"),
            Wording(r"Jitted function has static_argnums=.* but only accepts"),
        ),
        "The options are static_argnums and static_argnames, donate_argnums and donate_argnames, and must name "
        "arguments of the function.",
        "Correct the name.",
        _EVERY,
    ),
    Entry(
        "has-aux",
        "a loss function returns more than the loss",
        (Wording(r"Gradient only defined for scalar-output functions\. Output was \("),),
        "grad differentiates one scalar; more values must be declared.",
        "Write `nnx.value_and_grad(loss_fn, has_aux=True)` and unpack `(loss, aux), grads`.",
        _EVERY,
    ),
    Entry(
        "nonscalar-loss",
        "a loss function does not return a scalar",
        (
            Wording(r"Gradient only defined for scalar-output functions\. Output had shape"),
            Wording(r"Gradient only defined for scalar-output functions"),
        ),
        "grad differentiates one number.",
        "Reduce the loss: `.mean()` or `.sum()`; use jax.jacobian for more outputs.",
        _EVERY,
    ),
    Entry(
        "gradient-of-integer",
        "the gradient of an integer or boolean is asked for",
        (Wording(r"grad requires real- or complex-valued inputs .* but got (u?int(8|16|32|64)|bool)"),),
        "Only floating-point inputs can be differentiated.",
        "Pass a float (`5.0`), convert with `x.astype(float)`, or choose the argument with `argnums`.",
        _EVERY,
    ),
    Entry(
        "list-argument",
        "a function of jax.numpy got a Python list",
        (Wording(r"\w+ requires ndarray or scalar arguments, got <class '(list|tuple)'>"),),
        "Unlike numpy, jax.numpy does not convert lists silently.",
        "Write `jnp.sum(jnp.array(values))`.",
        _EVERY,
    ),
    Entry(
        "array-immutable",
        "a jax array is changed in place",
        (
            Wording(r"JAX arrays are immutable"),
            Wording(r"'[\w.]*ArrayImpl' object does not support item assignment"),
            Wording(r"'[\w.]*(ArrayImpl|Tracer)' object has no attribute '(fill|resize|put|itemset|setflags)'"),
            Wording(r"AttributeError: __delitem__", r"jnp|jax|flax|nnx"),
        ),
        "jax arrays never change.",
        "Write `x = x.at[i].set(value)`; on an nnx.Variable `variable[i] = value` is fine.",
        _EVERY,
    ),
    Entry(
        "list-index",
        "a jax array is indexed with a list",
        (Wording(r"Using a non-tuple sequence for multidimensional indexing is not allowed"),),
        "Unlike numpy, jax does not convert lists silently.",
        "Write `x[jnp.array([0, 1])]`.",
        _EVERY,
    ),
    Entry(
        "carry-type",
        "the carry of a loop changes its type or structure",
        (
            Wording(r"body function carry input and carry output must have"),
            Wording(r"body_fun output and input must have identical types"),
            Wording(r"cond branch outputs must have"),
            Wording(r"true_fun and false_fun output must have identical types"),
        ),
        "Shapes, dtypes and structure of a carry are fixed, and both branches of a cond must agree.",
        "Start with the type that the body returns, for example `jnp.zeros(3, x.dtype)`.",
        _EVERY,
    ),
    Entry(
        "donated-buffer",
        "an array is used after it was donated",
        (
            Wording(r"Array has been deleted"),
            Wording(r"Buffer has been deleted or donated"),
        ),
        "donate_argnums gives the memory of an argument to the compiled function. From Flax 0.11.0 `nnx.state(model)` "
        "and nnx.split share the model's Variables, so donating a state deletes the model's arrays too.",
        "Go on with the returned value and put it back with nnx.update(model, state); donate copies, or do not donate.",
        _EVERY,
    ),
)
