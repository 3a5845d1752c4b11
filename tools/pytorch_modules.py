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
write("softplus", nn.Softplus(2, 1.5), [r(3, 4)])
write("mish", nn.Mish(), [r(3, 4)])
write("relu6", nn.ReLU6(), [4 * r(3, 4)])
write("max_pool3d", nn.MaxPool3d((2, 3, 2), stride=2, padding=1), [r(2, 2, 5, 6, 4)])
ids = torch.tensor([[1, 4, 2], [0, 2, 3]])
write("bag_mean", nn.EmbeddingBag(5, 3), [ids])
flat, offsets, weights = torch.tensor([1, 4, 2, 0, 3, 2]), torch.tensor([0, 2, 2, 6]), r(6)
write("bag_sum", nn.EmbeddingBag(5, 3, mode="sum", include_last_offset=True, padding_idx=2), [flat, offsets, weights],
      call=lambda m: m(flat, offsets, per_sample_weights=weights))
write("bag_max", nn.EmbeddingBag(5, 3, mode="max"), [ids])
a, b = r(4, 2, 3), r(4, 2, 5)
write("bilinear", nn.Bilinear(3, 5, 2), [a, b], call=lambda m: m(a, b))
write("encoder", nn.TransformerEncoderLayer(8, 2, 12), [r(5, 2, 8)])
x, hides = r(2, 5, 8), torch.tensor([[False, False, False, True, True], [False] * 5])
ahead = torch.nn.Transformer.generate_square_subsequent_mask(5)
write("encoder_first", nn.TransformerEncoderLayer(8, 4, 6, activation="gelu", batch_first=True, norm_first=True, bias=False,
                                                  layer_norm_eps=1e-3), [x, hides.float()],
      call=lambda m: m(x, src_mask=ahead, src_key_padding_mask=torch.zeros(2, 5).masked_fill(hides, float("-inf")),
                       is_causal=True))


def packed(module, x, lengths, batch_first):
    given = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=batch_first, enforce_sorted=False)
    output, state = module(given)
    return nn.utils.rnn.pad_packed_sequence(output, batch_first=batch_first, total_length=x.shape[int(batch_first)])[0], state


lengths = torch.tensor([2, 5, 3])
xt, xb = r(5, 3, 3), r(3, 5, 3)
write("lstm_packed", nn.LSTM(3, 4, num_layers=2, bidirectional=True), [xt, lengths],
      call=lambda m: packed(m, xt, lengths, False))
write("gru_packed", nn.GRU(3, 4, batch_first=True), [xb, lengths], call=lambda m: packed(m, xb, lengths, True))
save_file({name: t.clone(memory_format=torch.contiguous_format) for name, t in tensors.items()}, sys.argv[1])
