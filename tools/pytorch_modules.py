"""Writes tests/models/modules.safetensors: PyTorch's modules with their weights, inputs and results.

usage: pytorch_modules.py OUTPUT

For each case "name/state/KEY", "name/in/I" and "name/out/I", with running statistics from after the
calls as "name/after/KEY". Needs torch and safetensors.
"""
import sys

import torch
from safetensors.torch import save_file
from torch import nn

torch.manual_seed(20)
tensors = {}


def write(name, module, inputs, call=None, train=False, times=1):
    module.train(train)
    with torch.no_grad():
        for p in module.parameters():
            if p.dim() < 2:
                p.copy_(torch.randn_like(p))
        for key, value in module.state_dict().items():
            if key == "running_var":
                value.uniform_(0.5, 2)
            elif key == "running_mean":
                value.normal_()
            tensors[f"{name}/state/{key}"] = value.clone()
        for _ in range(times):
            out = call(module) if call else module(*inputs)
    for i, x in enumerate(inputs):
        tensors[f"{name}/in/{i}"] = x
    flat = []

    def flatten(value):
        if isinstance(value, (tuple, list)):
            for each in value:
                flatten(each)
        elif value is not None:
            flat.append(value)

    flatten(out)
    for i, y in enumerate(flat):
        tensors[f"{name}/out/{i}"] = y.contiguous()
    if train:
        for key, value in module.state_dict().items():
            tensors[f"{name}/after/{key}"] = value.clone()


r = torch.randn
write("conv1d", nn.Conv1d(3, 4, 3, stride=2, padding=1), [r(2, 3, 9)])
write("conv2d", nn.Conv2d(4, 6, (3, 2), padding=(1, 0), dilation=(1, 2), groups=2), [r(2, 4, 5, 6)])
write("conv2d_same", nn.Conv2d(2, 3, 4, padding="same", padding_mode="replicate", bias=False), [r(1, 2, 6, 7)])
write("conv2d_reflect", nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode="reflect"), [r(2, 5, 6)])
write("conv3d", nn.Conv3d(2, 2, 2), [r(1, 2, 3, 4, 3)])
write("conv_transpose1d", nn.ConvTranspose1d(3, 4, 3, stride=2, output_padding=1), [r(2, 3, 5)])
write("conv_transpose2d", nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, groups=2), [r(1, 4, 4, 5)])
write("conv_transpose3d", nn.ConvTranspose3d(2, 2, 2, stride=2, bias=False), [r(1, 2, 2, 3, 2)])
write("batch_norm", nn.BatchNorm2d(3), [r(2, 3, 4, 4)])
write("batch_norm_trained", nn.BatchNorm1d(3, momentum=0.3), [r(5, 3)], train=True, times=2)
write("batch_norm_mean", nn.BatchNorm2d(3, momentum=None), [r(2, 3, 2, 2)], train=True, times=3)
write("batch_norm_untracked", nn.BatchNorm1d(3, track_running_stats=False, affine=False), [r(4, 3, 2)])
write("group_norm", nn.GroupNorm(2, 6), [r(2, 6, 3, 2)])
write("instance_norm", nn.InstanceNorm2d(3, affine=True), [r(2, 3, 4, 2)])
x, h, c = r(5, 2, 3), r(4, 2, 4), r(4, 2, 4)
write("lstm", nn.LSTM(3, 4, num_layers=2, bidirectional=True), [x, h, c], call=lambda m: m(x, (h, c)))
write("lstm_projected", nn.LSTM(3, 5, proj_size=2, batch_first=True), [r(2, 4, 3)])
write("lstm_single", nn.LSTM(3, 4, bias=False), [r(4, 3)])
write("gru", nn.GRU(3, 4, num_layers=2, batch_first=True), [r(2, 5, 3)])
write("rnn_tanh", nn.RNN(3, 4, bidirectional=True), [r(5, 2, 3)])
write("rnn_relu", nn.RNN(3, 4, nonlinearity="relu"), [r(5, 2, 3)])
q, k, v = r(3, 2, 8), r(5, 2, 8), r(5, 2, 8)
write("attention", nn.MultiheadAttention(8, 2), [q, k, v], call=lambda m: m(q, k, v))
padding = torch.tensor([[False, False, True, False, True], [False, False, False, False, True]])
mask = torch.randn(3, 5)
write("attention_masked", nn.MultiheadAttention(8, 2), [q, k, v, padding, mask],
      call=lambda m: m(q, k, v, key_padding_mask=padding, attn_mask=mask, average_attn_weights=False))
qb, kb, vb = r(2, 3, 8), r(2, 3, 6), r(2, 3, 4)
hidden = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
write("attention_widths", nn.MultiheadAttention(8, 4, kdim=6, vdim=4, batch_first=True), [qb, kb, vb],
      call=lambda m: m(qb, kb, vb, attn_mask=hidden, is_causal=True, need_weights=False)[0])
save_file({name: t.clone(memory_format=torch.contiguous_format) for name, t in tensors.items()}, sys.argv[1])
