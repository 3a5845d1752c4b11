#!/usr/bin/env python3
"""Draws PyTorch's own samples of its operators (OpInfo) as programs with their gradients, in float64.

    tools/opinfo_samples.py FOLDER [--samples N] [--name PREFIX ...] [--jobs N]

Every operator of torch.testing._internal.common_methods_invocations.op_db that has a derivative is exported with up to
N of its samples (torch.export): the first N of an order that does not depend on N, or further ones until one has a
program. FOLDER/OPERATOR/NUMBER has the program, its inputs, cotangents, gradients and second gradients in a random
direction, as tools/program_gradients.py reads them. drawn.json beside it has, by number, why one has no program:

    not exported        PyTorch does not export or differentiate the sample, or its own program has other results
    random              its result depends on a generator
    not differentiated  no operand is to be differentiated, or nothing floating is computed of one

Samples in the folder are not drawn again. Needs PyTorch 2.9 or later, expecttest and safetensors.
"""
import argparse
import concurrent.futures
import contextlib
import itertools
import json
import multiprocessing
import pathlib
import random
import signal
import sys
import time
import warnings

MOST_SAMPLES = 400  # of an operator, from which those that are drawn are chosen
TRIED, DIED = "tried", "not exported: PyTorch ends the process"  # at the first, and at the second time


@contextlib.contextmanager
def limited(seconds):
    """Raises TimeoutError in the main thread after that time."""
    def stop(number, frame):
        raise TimeoutError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def operators():
    """{name: operator} of those that PyTorch differentiates in float64."""
    import torch
    from torch.testing._internal import common_methods_invocations as invocations

    # It sets a seed within the operator, which is not exported.
    invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
    return {op.formatted_name.replace(".", "_"): op for op in invocations.op_db
            if op.supports_autograd and torch.float64 in op.dtypes}


def second_gradients(gradients, given, generator):
    """(directions, gradients of the sum of gradients times directions) by operand."""
    import torch

    directions = {k: torch.randn(g.shape, generator=generator, dtype=torch.float64)
                  for k, g in gradients.items() if g is not None}
    bent = [k for k in directions if gradients[k].requires_grad]
    slopes = [None] * len(gradients)
    if bent:
        slopes = torch.autograd.grad([gradients[k] for k in bent], [given[k] for k in gradients],
                                     [directions[k] for k in bent], allow_unused=True)
    return directions, {k: g for k, g in zip(gradients, slopes) if gradients[k] is not None}


def flaw_of(program, tensors, outputs):
    """Why the exported program computes something else than the operator by PyTorch itself, or None."""
    import torch

    def is_close(a, b):
        return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, equal_nan=True)

    module, runs = program.module(), []
    for seed in (1, 2):
        torch.manual_seed(seed)
        runs.append(module(*[x.clone() for x in tensors]))
        if not any(torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
                   for node in program.graph_module.graph.nodes):
            break
    if not all(map(is_close, runs[0], runs[-1])):
        return "random: two runs differ"
    if not all(map(is_close, runs[0], outputs)):
        return "not exported: the program has other results than the operator"
    return None


def draw(op, index, sample, base):
    """Writes a sample's files. None, or the reason why it has none."""
    import torch
    from torch.utils import _pytree as pytree

    leaves, tree = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]

    def floating(value):
        outputs = [y for y in pytree.tree_leaves(sample.output_process_fn_grad(value)) if isinstance(y, torch.Tensor)]
        return [torch.view_as_real(torch.resolve_conj(y)) if y.is_complex() else y for y in outputs]

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
        return "not differentiated: no operand requires a gradient"
    given = [x.clone().requires_grad_() if k in wanted else x for k, x in enumerate(tensors)]
    outputs = Program()(*given)
    live = [k for k, y in enumerate(outputs) if y.requires_grad and y.dtype == torch.float64]
    if not live:
        return "not differentiated: no output requires a gradient"
    generator = torch.Generator().manual_seed(index)
    cotangents = {k: torch.randn(outputs[k].shape, generator=generator, dtype=torch.float64) for k in live}
    found = torch.autograd.grad([outputs[k] for k in live], [given[k] for k in wanted],
                                [cotangents[k] for k in live], allow_unused=True, create_graph=op.supports_gradgrad)
    gradients, second = dict(zip(wanted, found)), None
    if op.supports_gradgrad:
        with contextlib.suppress(RuntimeError):  # that PyTorch has none of these arguments
            second = second_gradients(gradients, given, generator)
    program = torch.export.export(Program(), tuple(tensors)).run_decompositions()
    flaw = flaw_of(program, tensors, [y.detach() for y in outputs])
    if not flaw:
        write(base, program, tensors, outputs, cotangents, gradients, second)
    return flaw


def write(base, program, tensors, outputs, cotangents, gradients, second):
    import torch
    from safetensors.torch import save_file

    base.parent.mkdir(parents=True, exist_ok=True)
    torch.export.save(program, f"{base}.pt2")
    save_file({f"in.{k}": x.contiguous() for k, x in enumerate(tensors)} |
              {f"out.{k}": y.detach().contiguous().clone() for k, y in enumerate(outputs)}, f"{base}.safetensors")
    about = {"undifferentiated": [f"in.{k}" for k, g in gradients.items() if g is None]}
    saved = {f"cotangent.{k}": c for k, c in cotangents.items()}
    saved |= {f"grad.in.{k}": g for k, g in gradients.items() if g is not None}
    if second:
        saved |= {f"direction.in.{k}": d for k, d in second[0].items()}
        saved |= {f"second.in.{k}": g for k, g in second[1].items() if g is not None}
        about["second_zero"] = [f"in.{k}" for k, g in second[1].items() if g is None]
    save_file({key: x.detach().contiguous().clone() for key, x in saved.items()}, f"{base}.grad.safetensors",
              {key: json.dumps(value) for key, value in about.items()})


class Record:
    """The drawn.json of an operator."""

    def __init__(self, folder):
        self.path = folder / "drawn.json"
        told = json.loads(self.path.read_text()) if self.path.exists() else {"samples": None, "reasons": {}}
        self.samples, self.reasons = told["samples"], told["reasons"]

    def lacks(self, most):
        done = sum(reason != TRIED for reason in self.reasons.values())
        return self.samples is None or done < self.samples and (done < most or not self.has_program())

    def has_program(self):
        return None in self.reasons.values()

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"samples": self.samples, "reasons": self.reasons}, indent=1))


def text_of(error):
    return f"not exported: {type(error).__name__}: {' '.join(str(error).split())[:300]}"


def draw_operator(name, folder, most, sample_seconds, seconds):
    """Draws what an operator lacks, for that time at most; the samples that are left have that as their reason."""
    import torch

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    record, end, samples = Record(folder / name), time.monotonic() + seconds, []
    op = operators()[name]
    if record.samples is None:
        record.samples, record.reasons = 0, {"all": DIED}
        record.save()
        record.reasons = {}
    try:
        torch.manual_seed(1)
        samples = list(itertools.islice(op.sample_inputs("cpu", torch.float64, requires_grad=True), MOST_SAMPLES))
    except Exception as error:  # whatever PyTorch raises
        record.reasons["all"] = text_of(error)
    record.samples = len(samples)
    for place, index in enumerate(random.Random(name).sample(range(len(samples)), len(samples))):
        if place >= most and record.has_program():
            break
        key = str(index)
        if record.reasons.get(key, TRIED) != TRIED:
            continue
        record.reasons[key] = DIED if key in record.reasons else TRIED  # if it does not come back
        record.save()
        try:
            if time.monotonic() > end:
                raise TimeoutError(f"the operator takes longer than {seconds} s")
            with limited(sample_seconds):
                record.reasons[key] = draw(op, index, samples[index], folder / name / key)
        except Exception as error:
            record.reasons[key] = text_of(error)
    record.save()


def draw_all(folder, prefixes, most, jobs, sample_seconds=60, seconds=300):
    """Draws what is missing, in that many processes. The names of all operators."""
    names = [name for name in operators() if not prefixes or name.startswith(tuple(prefixes))]
    context = multiprocessing.get_context("spawn")
    while missing := [name for name in names if Record(folder / name).lacks(most)]:
        try:
            # New processes from time to time: exporting leaves memory behind.
            with concurrent.futures.ProcessPoolExecutor(jobs, context) as pool:
                for done in [pool.submit(draw_operator, name, folder, most, sample_seconds, seconds)
                             for name in missing[:100 * jobs]]:
                    done.result()
        except concurrent.futures.process.BrokenProcessPool:
            print("a process that draws has ended; the samples that are left are drawn by others", flush=True)
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=MOST_SAMPLES, help="of an operator at most")
    parser.add_argument("--name", action="append", help="only operators whose names begin so")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    names = draw_all(arguments.folder, arguments.name, arguments.samples, arguments.jobs)
    reasons = [reason for name in names for reason in Record(arguments.folder / name).reasons.values()]
    programs = sum(reason is None for reason in reasons)
    print(f"{len(names)} operators, {programs} of {len(reasons)} samples have programs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
