#!/usr/bin/env python3
"""Rates of PyTorch's schedules over 300 steps, for tests/models/training.

    tools/schedule_cases.py > tests/models/training/schedules.json

{NAME: `schedule` (class), `arguments`, `parts` of a SequentialLR or ChainedScheduler, `optimizer`,
`initial` rates of two groups, `lr` [2][300], and `momentum` or `beta1` [2][300] where it changes}.
`lr[g][k]` is the rate of step k; the schedule advances after each step, ReduceLROnPlateau by
`metric[k]`. SGD has momentum 0.9. `lr_lambda` is an expression in `epoch`.
"""
import json
import math
import random
import sys
import warnings

import torch


def schedule_cases(pick, metric):
    """name: (class, arguments) or (class, [parts], arguments); two of each, three of some."""
    return dict(
        step=('StepLR', dict(step_size=pick(30, 17, 45), gamma=pick(.1, .3))),
        step_slow=('StepLR', dict(step_size=7, gamma=pick(.9, .95))),
        multi_step=('MultiStepLR', dict(milestones=pick([30, 80, 200], [10, 90, 250]), gamma=pick(.1, .2))),
        multi_step_twice=('MultiStepLR', dict(milestones=[50, 50, 120], gamma=pick(.5, .6))),
        constant=('ConstantLR', dict(factor=1 / 3, total_iters=5)),
        constant_long=('ConstantLR', dict(factor=pick(.5, .25), total_iters=100)),
        linear=('LinearLR', dict(start_factor=1 / 3, end_factor=1., total_iters=5)),
        linear_down=('LinearLR', dict(start_factor=1., end_factor=pick(.05, .1), total_iters=pick(250, 199))),
        exponential=('ExponentialLR', dict(gamma=pick(.99, .985))),
        exponential_fast=('ExponentialLR', dict(gamma=pick(.9, .8))),
        polynomial=('PolynomialLR', dict(total_iters=pick(200, 150), power=1.)),
        polynomial_power=('PolynomialLR', dict(total_iters=280, power=pick(2.5, 1.7))),
        cosine=('CosineAnnealingLR', dict(T_max=pick(300, 270))),
        cosine_cycles=('CosineAnnealingLR', dict(T_max=pick(60, 47), eta_min=pick(.001, .002))),
        warm_restarts=('CosineAnnealingWarmRestarts', dict(T_0=pick(50, 33))),
        warm_restarts_growing=('CosineAnnealingWarmRestarts', dict(T_0=20, T_mult=2, eta_min=pick(.0005, .0007))),
        cyclic=('CyclicLR', dict(base_lr=.001, max_lr=pick(.1, .2), step_size_up=pick(40, 31))),
        cyclic_halving=('CyclicLR', dict(base_lr=[.001, .002], max_lr=[.1, .05], step_size_up=25, step_size_down=50,
            mode='triangular2')),
        cyclic_exponential=('CyclicLR', dict(base_lr=.01, max_lr=.3, step_size_up=30, mode='exp_range',
            gamma=pick(.995, .99), cycle_momentum=False)),
        one_cycle=('OneCycleLR', dict(max_lr=pick(.1, .3), total_steps=300)),
        one_cycle_linear=('OneCycleLR', dict(max_lr=[.1, .01], total_steps=300, pct_start=pick(.2, .4),
            anneal_strategy='linear', div_factor=10., final_div_factor=100.)),
        one_cycle_three_phases=('OneCycleLR', dict(max_lr=.2, epochs=30, steps_per_epoch=10, three_phase=True,
            base_momentum=pick(.8, .7), max_momentum=.9)),
        one_cycle_adam=('OneCycleLR', dict(max_lr=.02, total_steps=300), 'AdamW'),
        cyclic_adam=('CyclicLR', dict(base_lr=.001, max_lr=.01, step_size_up=35), 'AdamW'),
        plateau=('ReduceLROnPlateau', dict(factor=.5, patience=pick(5, 4)), 'SGD', metric),
        plateau_max=('ReduceLROnPlateau', dict(mode='max', factor=.3, patience=3, threshold=.01, threshold_mode='abs',
            cooldown=pick(4, 6), min_lr=1e-4), 'SGD', [1 - m for m in metric]),
        plateau_groups=('ReduceLROnPlateau', dict(factor=.1, patience=8, min_lr=[1e-3, 1e-6], eps=1e-5), 'SGD', metric),
        multiplicative=('MultiplicativeLR', dict(lr_lambda='0.95')),
        multiplicative_wave=('MultiplicativeLR', dict(lr_lambda='0.9 if epoch % 10 == 0 else 1.0')),
        warmup_cosine=('SequentialLR', [('LinearLR', dict(start_factor=.01, total_iters=20)), ('CosineAnnealingLR',
            dict(T_max=280))], dict(milestones=[20])),
        sequence_of_three=('SequentialLR', [('ConstantLR', dict(factor=.1, total_iters=10)), ('ExponentialLR',
            dict(gamma=.98)), ('StepLR', dict(step_size=20, gamma=.5))], dict(milestones=pick([10, 150], [15, 90]))),
        chain=('ChainedScheduler', [('ConstantLR', dict(factor=.1, total_iters=20)), ('ExponentialLR',
            dict(gamma=.99))], {}),
        chain_of_three=('ChainedScheduler', [('LinearLR', dict(start_factor=.2, total_iters=30)), ('MultiStepLR',
            dict(milestones=[100, 200], gamma=.3)), ('CosineAnnealingLR', dict(T_max=300, eta_min=1e-4))], {}))


def make_schedule(kind, arguments, optimizer):
    arguments = dict(arguments)
    if 'lr_lambda' in arguments:
        arguments['lr_lambda'] = eval('lambda epoch: ' + arguments['lr_lambda'])
    return getattr(torch.optim.lr_scheduler, kind)(optimizer, **arguments)


def schedule_run(case, rates, steps=300):
    kind, metric = case['schedule'], case.get('metric')
    groups = [{'params': [torch.zeros(1, requires_grad=True)], 'lr': rate} for rate in rates]
    optimizer = torch.optim.SGD(groups, momentum=0.9) if case['optimizer'] == 'SGD' else torch.optim.AdamW(groups)
    parts = [make_schedule(*part, optimizer) for part in case.get('parts', [])]
    lr_scheduler = torch.optim.lr_scheduler
    if kind == 'ChainedScheduler':
        schedule = lr_scheduler.ChainedScheduler(parts)
    elif kind == 'SequentialLR':
        schedule = lr_scheduler.SequentialLR(optimizer, parts, **case['arguments'])
    else:
        schedule = make_schedule(kind, case['arguments'], optimizer)
    lr, other = [[] for _ in groups], [[] for _ in groups]
    key = 'momentum' if case['optimizer'] == 'SGD' else 'betas'
    for step in range(steps):
        for k, group in enumerate(optimizer.param_groups):
            lr[k].append(group['lr'])
            other[k].append(group['momentum'] if key == 'momentum' else group['betas'][0])
        optimizer.step()
        if step + 1 < steps:
            schedule.step(*([metric[step]] if metric else []))
    return lr, (key if key == 'momentum' else 'beta1'), (other if len(set(other[0])) > 1 else None)


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    rng = random.Random(seed)
    chosen = random.Random(seed)
    pick = lambda usual, *others: usual if seed == 0 else chosen.choice(others)
    metric = [round(2 * math.exp(-k / 40) + 0.3 + 0.05 * rng.uniform(-1, 1), 6) for k in range(300)]
    metric[120:150] = [metric[120]] * 30  # equal values are no improvement
    warnings.filterwarnings('ignore')
    rates, index = [0.1, 0.02], {}
    for name, value in schedule_cases(pick, metric).items():
        case = dict(schedule=value[0], optimizer='SGD')
        if isinstance(value[1], list):
            case |= dict(parts=value[1], arguments=value[2])
        else:
            case |= dict(arguments=value[1])
            if len(value) > 2:
                case['optimizer'] = value[2]
        if len(value) > 3:
            case['metric'] = value[3]
        lr, key, other = schedule_run(case, rates)
        index[name] = dict(case, initial=rates, lr=lr, **({key: other} if other else {}))
    print('{')
    print(',\n'.join(f'{json.dumps(k)}: {json.dumps(v)}' for k, v in index.items()))
    print('}')


if __name__ == '__main__':
    main()
