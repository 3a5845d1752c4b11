#!/usr/bin/env python3
"""Compares gradients of PyTorch's own samples of its operators (OpInfo) with PyTorch's, in float64.

    tools/opinfo_gradients.py FOLDER [--samples N] [--name PREFIX ...] [--draw-only] [--json FILE]

Draws up to N samples of every operator of torch.testing._internal.common_methods_invocations.op_db that has a
derivative, exports each as a program (torch.export) and writes it with its inputs, cotangents and gradients to
FOLDER/OPERATOR/NUMBER, as tools/program_gradients.py reads them, which then runs and compares them. Programs that are in
the folder are not drawn again. Failures are counted by kind:

    not exported     PyTorch itself does not export or differentiate the sample
    not run          the program has an operator, or arguments of one, that the importer refuses
    without rule     the program runs, and some operation has no derivative
    differs          a gradient is another one than PyTorch's: a fault, unless docs/unsupported_gradients.txt has it
    too long         of more than --timeout seconds

Operators of which less than 99 % of the samples agree are listed with the first reason. Needs PyTorch 2.9 or later,
expecttest and safetensors.
"""
import argparse
import collections
import itertools
import json
import pathlib
import sys
import tempfile
import warnings

import program_gradients


def drawn(op, index, sample):
    """(program, inputs, cotangents, gradients) of a sample."""
    import torch
    from torch.utils import _pytree as pytree

    leaves, tree = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]

    def floating(value):
        outputs = pytree.tree_leaves(sample.output_process_fn_grad(value))
        return [y for y in outputs if isinstance(y, torch.Tensor)]

    class Program(torch.nn.Module):
        def forward(self, *tensors):
            all_leaves = list(leaves)
            for place, tensor in zip(places, tensors):
                all_leaves[place] = tensor
            first, args, kwargs = pytree.tree_unflatten(all_leaves, tree)
            return tuple(floating(op(first, *args, **kwargs)))

    tensors = [leaves[i].detach().clone() for i in places]
    wanted = [k for k, i in enumerate(places) if leaves[i].requires_grad]
    if not wanted:
        return None
    given = [x.clone().requires_grad_() if k in wanted else x for k, x in enumerate(tensors)]
    outputs = Program()(*given)
    live = [k for k, y in enumerate(outputs) if y.requires_grad and y.dtype == torch.float64]
    if not live or any(y.is_complex() and y.requires_grad for y in outputs):
        return None
    generator = torch.Generator().manual_seed(index)
    cotangents = {k: torch.randn(outputs[k].shape, generator=generator, dtype=torch.float64) for k in live}
    found = torch.autograd.grad([outputs[k] for k in live], [given[k] for k in wanted],
                                [cotangents[k] for k in live], allow_unused=True)
    program = torch.export.export(Program(), tuple(tensors)).run_decompositions()
    return program, tensors, outputs, cotangents, dict(zip(wanted, found))


def write(base, made):
    import torch
    from safetensors.torch import save_file

    program, tensors, outputs, cotangents, gradients = made
    base.parent.mkdir(parents=True, exist_ok=True)
    torch.export.save(program, f"{base}.pt2")
    save_file({f"in.{k}": x.contiguous() for k, x in enumerate(tensors)} |
              {f"out.{k}": y.detach().contiguous().clone() for k, y in enumerate(outputs)}, f"{base}.safetensors")
    about = {"undifferentiated": [f"in.{k}" for k, g in gradients.items() if g is None]}
    save_file({f"cotangent.{k}": c.contiguous() for k, c in cotangents.items()} |
              {f"grad.in.{k}": g.detach().contiguous().clone() for k, g in gradients.items() if g is not None},
              f"{base}.grad.safetensors", {key: json.dumps(value) for key, value in about.items()})


def draw(folder, names, most):
    """Writes what is missing. {case: reason} of samples that PyTorch does not export."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    failed = {}
    for op in op_db:
        name = op.formatted_name.replace(".", "_")
        if names and not name.startswith(tuple(names)):
            continue
        if not op.supports_autograd or torch.float64 not in op.dtypes or (folder / name / "drawn").exists():
            continue
        try:
            torch.manual_seed(1)
            samples = itertools.islice(op.sample_inputs("cpu", torch.float64, requires_grad=True), most)
            for index, sample in enumerate(samples):
                try:
                    made = drawn(op, index, sample)
                    if made:
                        write(folder / name / str(index), made)
                except Exception as error:  # whatever PyTorch raises, this sample has no program
                    failed[f"{name}/{index}"] = f"{type(error).__name__}: {str(error).strip()[:200]}"
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {str(error).strip()[:200]}"
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "drawn").write_text(json.dumps({k: v for k, v in failed.items() if k.startswith(name + "/")}))
    return failed


def kind_of(reason):
    if "longer than" in reason:
        return "too long"
    if "[derivative]" in reason:
        return "without rule"
    if "distance" in reason or "norm" in reason or "is not 0" in reason or "finite" in reason:
        return "differs"
    return "not run"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=400, help="of an operator at most")
    parser.add_argument("--name", action="append", help="only operators whose names begin so")
    parser.add_argument("--draw-only", action="store_true")
    parser.add_argument("--command", default=str(program_gradients.ROOT / "build/release/tilewright"))
    parser.add_argument("--options", default="", help="more options of `tilewright run`")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--json", type=pathlib.Path, help="also write {case: reason or null}")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    draw(arguments.folder, arguments.name, arguments.samples)
    if arguments.draw_only:
        return 0

    reasons, excused = {}, program_gradients.known()
    for path in sorted(arguments.folder.rglob("drawn")):
        reasons |= {name: "not exported: " + reason for name, reason in json.loads(path.read_text()).items()}
    for path in sorted(arguments.folder.rglob("*.grad.safetensors")):
        case = program_gradients.Case(arguments.folder, path)
        if arguments.name and not case.name.startswith(tuple(arguments.name)):
            continue
        with tempfile.TemporaryDirectory() as folder:
            reason, _ = program_gradients.run_case(case, arguments, folder)
        reasons[case.name] = reason and f"{kind_of(reason)}: {reason}"
        if reason:
            print(f"{case.name}: {reasons[case.name][:300]}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(reasons, indent=1))

    kinds = collections.Counter(reason.split(":")[0] if reason else "agree" for reason in reasons.values())
    print(", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    by_name = collections.defaultdict(list)
    for case, reason in reasons.items():
        if not (reason or "").startswith("not exported"):
            by_name[case.split("/")[0]].append(reason)
    short = {n: next(filter(None, all_of)) for n, all_of in by_name.items()
             if sum(not r for r in all_of) < 0.99 * len(all_of)}
    print(f"{len(by_name) - len(short)} of {len(by_name)} operators agree in 99 % of their samples")
    for name, reason in sorted(short.items()):
        print(f"  {name}: {reason[:200]}")
    wrong = [case for case, reason in reasons.items()
             if reason and reason.startswith("differs") and case not in excused and case.split("/")[0] not in excused]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
