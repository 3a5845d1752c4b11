#!/usr/bin/env python3
"""Paths of parameters under PyTorch's optimizers, and clipped gradients, for tests/models/training.

    tools/optimizer_cases.py tests/models/training --packed

A network's w [7, 5], b [5] and s [] over 100 steps, in f64: NAME.safetensors has the loss before
each step, `path.w` the values after each, `state.I.KEY` the state_dict after 37 steps (I: parameter
in the order of `parameters`), `norm` the gradients' norm where that is clipped. With --packed all
of it is one file, paths.safetensors, names have `NAME/` before them, and of paths only the steps
`kept` are there. index.json: class and arguments, how the run differs, `distance_of_nudged` (of the
same run from initial values that differ by 1e-15) and `distance_of_f32` within 10, 37 and 100 steps.
"""
import argparse
import json
import math
import pathlib
from types import SimpleNamespace

import torch
import torch.nn as nn
from safetensors.torch import save_file

F64, F32 = torch.float64, torch.float32
RESUME = 37
KEPT = [0, 4, 9, 19, 36, 37, 59, 99]  # steps of packed paths


def plain(value):
    """The value as JSON can hold it: tensors as lists, NaN and infinities as "nan", "inf", "-inf"."""
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def write_json(path, value):
    """One line for each entry of the outermost list or dictionary."""
    value = plain(value)
    text = lambda v: json.dumps(v, allow_nan=False)
    lines = [f'{text(k)}: {text(v)}' for k, v in value.items()] if isinstance(value, dict) else [text(v) for v in value]
    opening, closing = '{}' if isinstance(value, dict) else '[]'
    path.write_text(opening + '\n' + ',\n'.join(lines) + '\n' + closing + '\n')


def distance(a, b):
    return (torch.as_tensor(a).double() - torch.as_tensor(b).double()).abs().max().item()


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023 (arXiv 2302.06675), algorithm 2, with decoupled weight decay."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group['betas']
            for p in group['params']:
                m = self.state[p].setdefault('exp_avg', torch.zeros_like(p))
                update = (first * m + (1 - first) * p.grad).sign()
                p.sub_(group['lr'] * (update + group['weight_decay'] * p))
                m.mul_(second).add_((1 - second) * p.grad)


class LAMB(torch.optim.Optimizer):
    """You et al. 2020 (arXiv 1904.00962v5), algorithm 2, phi the identity, ratio 1 where either norm is 0."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group['betas']
            for p in group['params']:
                s = self.state[p]
                if not s:
                    s.update(
                        step=torch.zeros((), dtype=F32), exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p)
                    )
                s['step'] += 1
                t = s['step'].item()
                s['exp_avg'].mul_(first).add_((1 - first) * p.grad)
                s['exp_avg_sq'].mul_(second).add_((1 - second) * p.grad**2)
                ratio = (s['exp_avg'] / (1 - first**t)) / ((s['exp_avg_sq'] / (1 - second**t)).sqrt() + group['eps'])
                update = ratio + group['weight_decay'] * p
                size, length = p.norm().item(), update.norm().item()
                p.sub_(group['lr'] * (size / length if size > 0 and length > 0 else 1.0) * update)


class MuonWide(torch.optim.Optimizer):
    """torch.optim.Muon with its Newton-Schulz iteration in `dtype`: in bfloat16 it is torch.optim.Muon itself."""

    def __init__(
        self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, dtype='float64', adjust_lr_fn='original'
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                weight_decay=weight_decay,
                momentum=momentum,
                nesterov=nesterov,
                dtype=dtype,
                adjust_lr_fn=adjust_lr_fn,
            ),
        )

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group['params']:
                m = self.state[p].setdefault('momentum_buffer', torch.zeros_like(p))
                beta = group['momentum']
                m.lerp_(p.grad, 1 - beta)
                u = (p.grad.lerp(m, beta) if group['nesterov'] else m).to(getattr(torch, group['dtype']))
                tall = u.shape[0] > u.shape[1]
                if tall:
                    u = u.T
                u = u / u.norm().clamp(min=1e-7)
                for _ in range(5):
                    gram = u @ u.T
                    u = torch.addmm(u, torch.addmm(gram, gram, gram, beta=-4.775, alpha=2.0315), u, beta=3.4445)
                if tall:
                    u = u.T
                rows, columns = p.shape
                scale = (
                    max(1, rows / columns) ** 0.5
                    if group['adjust_lr_fn'] == 'original'
                    else 0.2 * max(rows, columns) ** 0.5
                )
                p.mul_(1 - group['lr'] * group['weight_decay']).add_(u.to(p.dtype), alpha=-group['lr'] * scale)


OPTIMIZERS = {  # name: class, arguments, and how the run differs (see optimizer_run)
    'sgd': ('SGD', dict(lr=.05)),
    'sgd_momentum': ('SGD', dict(lr=.02, momentum=.9)),
    'sgd_dampening': ('SGD', dict(lr=.05, momentum=.8, dampening=.3)),
    'sgd_nesterov': ('SGD', dict(lr=.02, momentum=.9, nesterov=True)),
    'sgd_weight_decay': ('SGD', dict(lr=.02, momentum=.9, weight_decay=.1)),
    'sgd_maximize': ('SGD', dict(lr=.005, momentum=.5, weight_decay=.01, maximize=True)),
    'sgd_groups': ('SGD', dict(lr=.05),
        dict(groups=[dict(momentum=.9, nesterov=True, weight_decay=.05), dict(lr=.01)])),
    'adam': ('Adam', dict(lr=.01)),
    'adam_betas': ('Adam', dict(lr=.02, betas=(.8, .95), eps=1e-5)),
    'adam_weight_decay': ('Adam', dict(lr=.01, weight_decay=.1)),
    'adam_decoupled': ('Adam', dict(lr=.01, weight_decay=.1, decoupled_weight_decay=True)),
    'adam_amsgrad': ('Adam', dict(lr=.02, amsgrad=True)),
    'adam_amsgrad_weight_decay': ('Adam', dict(lr=.02, amsgrad=True, weight_decay=.05, betas=(.7, .9))),
    'adam_maximize': ('Adam', dict(lr=.01, weight_decay=.1, maximize=True)),
    'adam_groups': ('Adam', dict(lr=.01),
        dict(groups=[dict(weight_decay=.1, betas=(.8, .99)), dict(lr=.03, eps=1e-4)])),
    'adamw': ('AdamW', dict(lr=.01)),
    'adamw_weight_decay': ('AdamW', dict(lr=.01, weight_decay=.3)),
    'adamw_amsgrad': ('AdamW', dict(lr=.02, weight_decay=.1, amsgrad=True)),
    'adamw_maximize': ('AdamW', dict(lr=.01, weight_decay=.1, maximize=True)),
    'adamw_groups': ('AdamW', dict(lr=.01, betas=(.9, .95)),
        dict(groups=[dict(weight_decay=.1), dict(weight_decay=0., lr=.002)])),
    'rmsprop': ('RMSprop', dict(lr=.005)),
    'rmsprop_centered': ('RMSprop', dict(lr=.005, centered=True, alpha=.9)),
    'rmsprop_momentum': ('RMSprop', dict(lr=.002, momentum=.9, weight_decay=.05)),
    'rmsprop_centered_momentum': ('RMSprop', dict(lr=.002, momentum=.8, centered=True, eps=1e-4, maximize=True)),
    'adagrad': ('Adagrad', dict(lr=.05)),
    'adagrad_decay': ('Adagrad', dict(lr=.1, lr_decay=.02, weight_decay=.05, initial_accumulator_value=.1)),
    'adagrad_maximize': ('Adagrad', dict(lr=.02, eps=1e-6, maximize=True)),
    'adadelta': ('Adadelta', dict(lr=1.)),
    'adadelta_weight_decay': ('Adadelta', dict(lr=.7, rho=.8, eps=1e-4, weight_decay=.1)),
    'adadelta_maximize': ('Adadelta', dict(lr=.5, eps=1e-5, maximize=True)),
    'adamax': ('Adamax', dict(lr=.01)),
    'adamax_weight_decay': ('Adamax', dict(lr=.02, betas=(.8, .9), eps=1e-5, weight_decay=.1)),
    'adamax_maximize': ('Adamax', dict(lr=.01, maximize=True)),
    'nadam': ('NAdam', dict(lr=.01)),
    'nadam_weight_decay': ('NAdam', dict(lr=.01, betas=(.8, .95), momentum_decay=.01, weight_decay=.1)),
    'nadam_decoupled': ('NAdam', dict(lr=.01, weight_decay=.1, decoupled_weight_decay=True)),
    'nadam_maximize': ('NAdam', dict(lr=.01, maximize=True)),
    'radam': ('RAdam', dict(lr=.02)),
    'radam_weight_decay': ('RAdam', dict(lr=.02, betas=(.8, .98), weight_decay=.1)),
    'radam_decoupled': ('RAdam', dict(lr=.02, weight_decay=.1, decoupled_weight_decay=True)),
    'radam_maximize': ('RAdam', dict(lr=.01, maximize=True)),
    'rprop': ('Rprop', dict(lr=.01)),
    'rprop_limits': ('Rprop', dict(lr=.005, etas=(.4, 1.4), step_sizes=(1e-4, .03))),
    'rprop_maximize': ('Rprop', dict(lr=.001, step_sizes=(1e-6, .01), maximize=True)),
    'asgd': ('ASGD', dict(lr=.05)),
    'asgd_averaging': ('ASGD', dict(lr=.05, lambd=.01, alpha=.6, t0=20, weight_decay=.05)),
    'asgd_maximize': ('ASGD', dict(lr=.005, maximize=True)),
    'adafactor': ('Adafactor', dict(lr=.02)),
    'adafactor_weight_decay': ('Adafactor', dict(lr=.05, beta2_decay=-.6, eps=(1e-8, 1e-2), d=1.5, weight_decay=.1)),
    'adafactor_maximize': ('Adafactor', dict(lr=.01, maximize=True)),
    'muon': ('Muon', dict(lr=.02), dict(matrices=True)),
    'muon_plain': ('Muon', dict(lr=.02, momentum=.8, nesterov=False, weight_decay=0.), dict(matrices=True)),
    'muon_match_rms': ('Muon', dict(lr=.01, adjust_lr_fn='match_rms_adamw'), dict(matrices=True)),
    'muon_f64': ('MuonWide', dict(lr=.02), dict(matrices=True)),
    'muon_f64_match_rms': ('MuonWide', dict(lr=.01, adjust_lr_fn='match_rms_adamw', nesterov=False),
        dict(matrices=True)),
    'lion': ('Lion', dict(lr=.003)),
    'lion_weight_decay': ('Lion', dict(lr=.003, betas=(.95, .98), weight_decay=.3)),
    'lamb': ('LAMB', dict(lr=.02)),
    'lamb_weight_decay': ('LAMB', dict(lr=.02, betas=(.8, .95), weight_decay=.1)),
    'clip_norm': ('AdamW', dict(lr=.01), dict(clip=dict(kind='norm', limit=.05))),
    'clip_norm_sgd': ('SGD', dict(lr=.1, momentum=.9), dict(clip=dict(kind='norm', limit=.1))),
    'clip_norm_never': ('SGD', dict(lr=.02, momentum=.9), dict(clip=dict(kind='norm', limit=1e6))),
    'clip_norm_1': ('SGD', dict(lr=.05), dict(clip=dict(kind='norm', limit=.3, order=1.))),
    'clip_norm_3': ('SGD', dict(lr=.05), dict(clip=dict(kind='norm', limit=.05, order=3.))),
    'clip_norm_inf': ('SGD', dict(lr=.05), dict(clip=dict(kind='norm', limit=.02, order='inf'))),
    'clip_value': ('SGD', dict(lr=.05, momentum=.9), dict(clip=dict(kind='value', limit=.01))),
    'clip_value_adam': ('Adam', dict(lr=.01), dict(clip=dict(kind='value', limit=.003))),
}


OURS = dict(Lion=Lion, LAMB=LAMB, MuonWide=MuonWide)


def problem_loss(p, data):
    return (p['s'] * torch.tanh(data['x'] @ p['w'] + p['b']) - data['y']).square().mean()


def flat_state(optimizer):
    """{'PARAMETER.NAME': value} of state_dict()."""
    tensors = {}
    for index, state in optimizer.state_dict()['state'].items():
        for name, x in state.items():
            if x is not None:
                tensors[f'{index}.{name}'] = torch.as_tensor(x, dtype=None if torch.is_tensor(x) else F64)
    return tensors


def nudged(problem):
    """The problem with its parameters changed in the last bits: how far rounding alone carries a trajectory."""
    return {k: v * (1 + 1e-15) if k in 'wbs' else v for k, v in problem.items()}


def optimizer_run(name, arguments, how, problem, dtype=F64):
    """Losses, norms, {parameter: values after each step}, the state after RESUME steps."""
    kind = OPTIMIZERS[name][0]
    data = {k: problem[k].to(dtype) for k in ('x', 'y')}
    p = {k: problem[k].to(dtype).clone().requires_grad_() for k in ('w', 'b', 's')}
    used = ['w'] if how.get('matrices') else ['w', 'b', 's']
    groups = [{'params': [p[k] for k in used]}]
    if 'groups' in how:
        first, second = how['groups']
        groups = [dict(first, params=[p['w']]), dict(second, params=[p['b'], p['s']])]
    optimizer = OURS.get(kind, getattr(torch.optim, kind, None))(groups, **arguments)
    losses, norms, path, kept, clip = [], [], {k: [] for k in used}, None, how.get('clip')
    for step in range(100):
        optimizer.zero_grad()
        loss = problem_loss(p, data)
        loss.backward(inputs=[p[k] for k in used])
        grads = [p[k] for k in used]
        if clip and clip['kind'] == 'norm':
            order = float(clip.get('order', 2))
            norms.append(nn.utils.clip_grad_norm_(grads, clip['limit'], order).item())
        elif clip:
            nn.utils.clip_grad_value_(grads, clip['limit'])
        optimizer.step()
        losses.append(loss.item())
        [path[k].append(p[k].detach().clone()) for k in used]
        if step + 1 == RESUME:
            kept = {k: v.clone() for k, v in flat_state(optimizer).items()}
    return SimpleNamespace(
        losses=torch.tensor(losses, dtype=F64),
        norms=norms,
        path={k: torch.stack(v) for k, v in path.items()},
        kept=kept,
    )


def clip_table():
    """Gradients clipped by PyTorch: zero, small, large, infinite, NaN, empty."""
    cases, inf, nan = [], math.inf, math.nan
    lists = dict(
        zero=[[0.0, 0.0], [0.0]],
        small=[[0.3, -0.4], [0.0]],
        large=[[3.0, -4.0], [12.0]],
        exact=[[0.6, -0.8], [0.0]],
        infinite=[[inf, 1.0], [2.0]],
        minus_infinite=[[-inf, 1.0], [2.0]],
        nan=[[nan, 1.0], [2.0]],
        empty=[[], [2.0]],
    )
    for name, values in lists.items():
        for kind, order in (('norm', 2.0), ('norm', 1.0), ('norm', inf), ('norm', 0.0), ('value', None)):
            tensors = [torch.tensor(v, dtype=F64).requires_grad_() for v in values]
            for t, v in zip(tensors, values):
                t.grad = torch.tensor(v, dtype=F64)
            case = dict(name=name, kind=kind, order=order, limit=1.0, gradients=values)
            try:
                if kind == 'norm':
                    case['norm'] = nn.utils.clip_grad_norm_(tensors, 1.0, order).item()
                else:
                    nn.utils.clip_grad_value_(tensors, 1.0)
                case['clipped'] = [t.grad for t in tensors]
            except Exception as e:
                case['error'] = str(e).splitlines()[0]
            cases.append(case)
    return cases


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('out', type=pathlib.Path)
    parser.add_argument('--packed', action='store_true')
    parser.add_argument('--seed', type=int, default=0)
    arguments = parser.parse_args()
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(arguments.seed + 4)
    normal = lambda *shape: torch.randn(*shape, generator=g, dtype=F64)
    problem = dict(
        x=normal(24, 7), y=normal(24, 5), w=0.3 * normal(7, 5), b=0.1 * normal(5),
        s=torch.tensor(0.8, dtype=F64)
    )
    save_file({k: v.contiguous() for k, v in problem.items()}, out / 'problem.safetensors')
    index, packed = {}, {}
    for name, (kind, given, *how) in OPTIMIZERS.items():
        how = how[0] if how else {}
        r = optimizer_run(name, given, how, problem)
        narrow = optimizer_run(name, given, how, problem, F32)
        moved = optimizer_run(name, given, how, nudged(problem))
        rows = KEPT if arguments.packed else slice(None)
        tensors = {'loss': r.losses} | {f'path.{k}': v[rows] for k, v in r.path.items()}
        tensors |= {f'state.{k}': v for k, v in r.kept.items()}
        if r.norms:
            tensors['norm'] = torch.tensor(r.norms, dtype=F64)
        tensors = {k: v.detach().clone().contiguous() for k, v in tensors.items()}
        if arguments.packed:
            packed |= {f'{name}/{k}': v for k, v in tensors.items()}
            packed[f'{name}/kept'] = torch.tensor(KEPT)
        else:
            save_file(tensors, out / f'{name}.safetensors')
        apart = lambda other: {
            str(n): max(distance(other.path[k][:n], r.path[k][:n]) for k in r.path)
            for n in (10, 37, 100)
        }
        index[name] = dict(
            optimizer=kind, arguments=given, **how, parameters=list(r.path),
            distance_of_nudged=apart(moved), distance_of_f32=apart(narrow),
        )
    if packed:
        save_file(packed, out / 'paths.safetensors')
    write_json(out / 'index.json', index)
    write_json(out / 'clip.json', clip_table())


if __name__ == '__main__':
    main()
