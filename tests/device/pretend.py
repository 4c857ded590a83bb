"""A second device that is not there: for whoever has no GPU, and wants to know whether the code would run on one.

Its tensors keep their numbers on the CPU and say that they are elsewhere. They refuse to meet tensors of the CPU as
CUDA's do (a number alone, dim 0, is let through, and so is an index of the CPU into one of them), go there and back by
`.to`, and note where a number is asked for: there a GPU's processor would wait.

    with pretended() as asked:
        model = build_transformer(20, 20).to(DEVICE)
        ...
    asked        # [("_local_scalar_dense", "transformer_edu/decoding/greedy.py:60"), ...]

`x.device` says "privateuseone", in Python. For PyTorch's own C++ they are tensors of the CPU: what it creates on the
way, it creates there, so a function of it that is made of others in C++ may be refused though a GPU would run it
(`WHOLE`).
"""

import traceback
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_map

ROOT = Path(__file__).resolve().parents[2]
KNOWN = {  # what PyTorch asks a device's module; its numbers are drawn on the CPU
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "device_count": lambda: 1,
    "current_device": lambda: 0,
    "_is_in_bad_fork": lambda: False,
    "manual_seed_all": lambda seed: None,
    "get_rng_state": lambda device=None: torch.get_rng_state(),
    "set_rng_state": lambda state, device=None: None,
}
DEVICE = torch.device("privateuseone", 0)  # a name that PyTorch knows, and nothing behind it
GENERATOR = torch.Generator
ASKS = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "_unique2", "unique_dim", "tolist"}
ANY_DEVICE = {"copy_", "set_", "_to_copy"}  # these go from one device to the other
WHOLE = {F.one_hot}
_generators: dict[int, torch.Generator] = {}  # those that were made for the pretended device
_asked: list[list[tuple[str, str]]] = []


class Elsewhere(torch.Tensor):
    """A tensor of the pretended device; its numbers are in `here`."""

    here: torch.Tensor

    @staticmethod
    def __new__(cls, here, requires_grad=False):
        """Around a tensor of the CPU."""
        own = torch.Tensor._make_wrapper_subclass(
            cls,
            here.shape,
            strides=here.stride(),
            storage_offset=here.storage_offset(),
            dtype=here.dtype,
            requires_grad=requires_grad,
        )
        own.here = here
        return own

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        """One operation of PyTorch: refused if devices meet, else done on the CPU."""
        kwargs, name = kwargs or {}, function.overloadpacket.__name__
        given = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, torch.Tensor)]
        _refuse(name, args, given, kwargs.get("generator"))
        by_mask = name == "index" and any(index is not None and index.dtype is torch.bool for index in args[1])
        if name in ASKS or by_mask:
            _note(name)
        made = function(*tree_map(_here, args), **tree_map(_here, kwargs))
        if name == "copy_" and not isinstance(args[0], Elsewhere):
            return args[0]
        return return_and_correct_aliasing(function, args, kwargs, tree_map(_there, made))

    def __repr__(self, **_):
        """As of the CPU's tensor; a look at its numbers."""
        _note("repr")
        return f"{self.here!r} elsewhere"


def _here(value):
    return value.here if isinstance(value, Elsewhere) else value


def _there(value):
    return Elsewhere(value) if type(value) is torch.Tensor else value


def _refuse(name, args, given, generator):
    """Raise as PyTorch does where tensors of two devices meet."""
    if generator is not None and generator._cdata not in _generators:
        raise RuntimeError(f"Expected a '{DEVICE.type}' device type for generator but found 'cpu'")
    if name in ANY_DEVICE:
        return
    left = [leaf for leaf in given if not isinstance(leaf, Elsewhere) and leaf.dim() > 0]
    if name in ("index", "index_put_", "_unsafe_index") and isinstance(args[0], Elsewhere):
        left = [leaf for leaf in left if not any(leaf is index for index in args[1])]  # an index may come from the CPU
    if left:
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {DEVICE} and cpu! ({name})"
        )


def _note(name):
    """Write down who asked for a number: the last line of ours on the way here."""
    frames = [frame for frame in traceback.extract_stack() if frame.filename.startswith(str(ROOT / "transformer_edu"))]
    where = f"{Path(frames[-1].filename).relative_to(ROOT)}:{frames[-1].lineno}" if frames else ""
    for asked in _asked:
        asked.append((name, where))


class _Go(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return Elsewhere(x.detach().clone())

    @staticmethod
    def backward(context, gradient):
        return _here(gradient)


class _Come(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.here.detach().clone()

    @staticmethod
    def backward(context, gradient):
        return Elsewhere(gradient.clone())


def _is_elsewhere(device):
    return device is not None and torch.device(device).type == DEVICE.type


def _place(x):
    return DEVICE if isinstance(x, Elsewhere) else x.device


def _moved(x, *where, **named):
    """`x.to(...)`: to another type, and to another device."""
    others = [other for other in where if isinstance(other, torch.Tensor)]
    named.pop("copy", None)
    device, dtype, *_ = (_place(others[0]), others[0].dtype) if others else torch._C._nn._parse_to(*where, **named)
    if dtype is not None and dtype is not x.dtype:
        x = torch.Tensor.to(x, dtype=dtype)
    if device is None or _is_elsewhere(device) == isinstance(x, Elsewhere):
        return x
    if isinstance(x, Elsewhere):
        _note("to the CPU")
        return _Come.apply(x)
    return _Go.apply(x)


def _refuse_numpy(x, *_, **__):
    raise TypeError(f"can't convert {DEVICE} device type tensor to numpy. Use Tensor.cpu() to copy it to host first.")


def _listed(x):
    _note("tolist")
    return x.here.tolist()


OF_TENSORS = {  # what PyTorch would answer for the device that it takes them to be on
    torch.Tensor.device.__get__: lambda x: DEVICE,
    torch.Tensor.is_cpu.__get__: lambda x: False,
    torch.Tensor.cpu: lambda x, **_: _moved(x, "cpu"),
    torch.Tensor.numpy: _refuse_numpy,
    torch.Tensor.__array__: _refuse_numpy,
    torch.Tensor.tolist: _listed,
    torch.Tensor.__format__: lambda x, wanted: format(_listed(x) if x.dim() == 0 else x.here, wanted),
    torch.Tensor.new_tensor: lambda x, data, **named: torch.tensor(data, device=DEVICE, **{"dtype": x.dtype} | named),
}


class _Pretending(TorchFunctionMode):
    """Takes the calls that name the pretended device, and those whose answer depends on where a tensor is."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        first = args[0] if args else None
        if function is torch.Tensor.to:
            return _moved(*args, **kwargs)
        if function is torch.tensor and not isinstance(first, Elsewhere):  # numbers of tensors in a list
            args = tree_map(lambda value: _listed(value) if isinstance(value, Elsewhere) else value, args)
        if isinstance(first, Elsewhere) and function in OF_TENSORS:
            return OF_TENSORS[function](*args, **kwargs)
        if isinstance(first, Elsewhere) and function in WHOLE:
            return Elsewhere(function(first.here, *args[1:], **kwargs))
        if not _is_elsewhere(kwargs.get("device")):
            return function(*args, **kwargs)
        if kwargs.get("generator") is not None:
            _refuse("", (), [], kwargs["generator"])
        wants_gradient = kwargs.get("requires_grad", False)
        made = function(*tree_map(_here, args), **{**kwargs, "device": "cpu", "requires_grad": False}
                        if "requires_grad" in kwargs else {**kwargs, "device": "cpu"})  # fmt: skip
        return Elsewhere(made).requires_grad_(wants_gradient)


class _Generator:
    """In the place of torch.Generator."""

    def __new__(cls, device="cpu"):
        """A generator of the CPU; whether it is meant for the pretended device is noted."""
        made = GENERATOR("cpu" if _is_elsewhere(device) else device)
        if _is_elsewhere(device):
            _generators[made._cdata] = made
        return made


@contextmanager
def pretended():
    """Inside the `with` block DEVICE is a device; gives the list of who asks for a number, and where."""
    asked: list[tuple[str, str]] = []
    before = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)  # a parameter on the CPU becomes one elsewhere
    _asked.append(asked)
    torch.Generator = _Generator  # type: ignore[misc]
    setattr(torch, DEVICE.type, SimpleNamespace(**KNOWN))
    inference_mode = torch.inference_mode
    # in it tensors of a class of one's own, as ours are, have no views
    torch.inference_mode = lambda mode=True: torch.no_grad() if mode else inference_mode(False)  # type: ignore
    try:
        with _Pretending():
            yield asked
    finally:
        _asked.remove(asked)
        torch.Generator = GENERATOR  # type: ignore[misc]
        torch.inference_mode = inference_mode  # type: ignore[misc]
        delattr(torch, DEVICE.type)
        _generators.clear()
        torch.__future__.set_overwrite_module_params_on_conversion(before)
