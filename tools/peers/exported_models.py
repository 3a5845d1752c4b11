#!/usr/bin/env python3
"""Times networks that PyTorch exports, each as `tilewright run` runs it, beside PyTorch at once,
Inductor with weights frozen, and (f32 on the host) ONNX Runtime, in turns.

    tools/peers/exported_models.py FOLDER [--tilewright PATH] [--models NAME...] [--batches 1 8]
        [--rounds 3] [--threads 2] [--without inductor] [--dtype bf16] [--device cuda:0]
        [--convolutions] > docs/results/cpu_exported.json

Or single convolutions of those networks, `--convolutions`, to docs/results/cpu_convolutions.json.

FOLDER keeps the programs (NAME_BATCH.pt2, .onnx, .safetensors, those of other types as
NAME_BATCH_DTYPE), which are written where they are missing. Weights are random; norms of batches
have random statistics. On a GPU, PyTorch has images channels last, and its fastest algorithms. Needs
torch, torchvision, transformers, safetensors, and on the host onnxruntime and onnxscript.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")  # a first call compiles
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what libraries print is no result

import torch  # noqa: E402
import torch._inductor.config as inductor  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from torch import nn  # noqa: E402


class UNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        widths = [width << i for i in range(5)]
        self.downs = nn.ModuleList([self.block(a, b) for a, b in zip([3] + widths[:3], widths[:4])])
        self.middle = self.block(widths[3], widths[4])
        self.ups = nn.ModuleList([nn.ConvTranspose2d(2 * w, w, 2, 2) for w in widths[3::-1]])
        self.joins = nn.ModuleList([self.block(2 * w, w) for w in widths[3::-1]])
        self.last, self.pool = nn.Conv2d(width, 2, 1), nn.MaxPool2d(2)

    @staticmethod
    def block(inputs, outputs):
        layers = []
        for i in (inputs, outputs):
            layers += [nn.Conv2d(i, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
        return nn.Sequential(*layers)

    def forward(self, x):
        kept = []
        for down in self.downs:
            x = down(x)
            kept.append(x)
            x = self.pool(x)
        x = self.middle(x)
        for up, join, other in zip(self.ups, self.joins, reversed(kept)):
            x = join(torch.cat([up(x), other], 1))
        return self.last(x)


class FirstOutput(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)[0]


def networks():
    import torchvision.models as vision
    import transformers
    from transformers.models.whisper.modeling_whisper import WhisperEncoder
    image = lambda batch: torch.randn(batch, 3, 224, 224)  # noqa: E731
    whisper = transformers.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6,
                                         encoder_ffn_dim=1536)
    return {
        "resnet50": (vision.resnet50, image),
        "mobilenet_v2": (vision.mobilenet_v2, image),
        "efficientnet_b0": (vision.efficientnet_b0, image),
        "unet": (UNet, lambda batch: torch.randn(batch, 3, 256, 256)),
        "vit_b_16": (vision.vit_b_16, image),
        "bert_base": (lambda: FirstOutput(transformers.BertModel(transformers.BertConfig())),
                      lambda batch: torch.randint(0, 30000, (batch, 128))),
        "whisper_tiny_encoder": (lambda: FirstOutput(WhisperEncoder(whisper)),
                                 lambda batch: torch.randn(batch, 80, 3000)),
        "lstm_512": (lambda: FirstOutput(nn.LSTM(256, 256, batch_first=True)),
                     lambda batch: torch.randn(batch, 512, 256)),
    }


# Channels of x and of the result, size of windows and their stride, groups, size of the image.
CONVOLUTIONS = [
    # ResNet-50
    (3, 64, 7, 2, 1, 224), (64, 64, 1, 1, 1, 56), (64, 64, 3, 1, 1, 56), (64, 256, 1, 1, 1, 56),
    (256, 128, 1, 1, 1, 56), (128, 128, 3, 2, 1, 56), (128, 512, 1, 1, 1, 28), (512, 256, 1, 1, 1, 28),
    (256, 256, 3, 1, 1, 14), (256, 1024, 1, 1, 1, 14), (1024, 256, 1, 1, 1, 14), (512, 512, 3, 1, 1, 7),
    (512, 2048, 1, 1, 1, 7),
    # MobileNetV2
    (3, 32, 3, 2, 1, 224), (32, 32, 3, 1, 32, 112), (96, 96, 3, 2, 96, 112), (144, 144, 3, 1, 144, 56),
    (24, 144, 1, 1, 1, 56), (192, 32, 1, 1, 1, 28), (384, 384, 3, 1, 384, 14), (576, 96, 1, 1, 1, 14),
    (960, 320, 1, 1, 1, 7),
    # EfficientNet-B0
    (240, 240, 5, 1, 240, 28), (672, 672, 5, 1, 672, 14), (1152, 1152, 5, 1, 1152, 7),
    (40, 240, 1, 1, 1, 28),
    # U-Net
    (3, 32, 3, 1, 1, 256), (64, 32, 3, 1, 1, 256), (128, 64, 3, 1, 1, 128), (256, 128, 3, 1, 1, 64),
]


def convolutions():
    def of(inputs, outputs, window, stride, groups, size):
        return (lambda: nn.Conv2d(inputs, outputs, window, stride, window // 2, groups=groups),
                lambda batch: torch.randn(batch, inputs, size, size))
    def name(inputs, outputs, window, stride, groups, size):
        return (f"{inputs}-{outputs} {window}x{window}{f' by {stride}' if stride > 1 else ''}"
                f"{' by channel' if groups > 1 else ''} of {size}x{size}")
    return {name(*each).replace(" ", "_"): of(*each) for each in CONVOLUTIONS}


DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def write(path, make, data, batch, arguments):
    dtype = DTYPES[arguments.dtype]
    model = make().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    for parameter in model.parameters():  # the last layers of some networks are zeros at first
        if parameter.abs().max() == 0:
            parameter.data.normal_(0, 0.02)
    model, x = model.to(dtype), data(batch)
    x = x.to(dtype) if x.is_floating_point() else x
    program = torch.export.export(model, (x,))
    torch.export.save(program, f"{path}.pt2")
    if has_onnxruntime(arguments):
        torch.onnx.export(model, (x,), f"{path}.onnx", dynamo=True, verbose=False)
    save_file({"in.0": x, "out.0": model(x).contiguous()}, f"{path}.safetensors")


def has_onnxruntime(arguments):
    return "onnxruntime" not in arguments.without and arguments.dtype == "f32" and arguments.device == "cpu"


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def median_of_calls(call, least=3, at_least_s=0.3):
    times = []
    while len(times) < least or (sum(times) < at_least_s and len(times) < 50):
        times.append(seconds(call))
    return statistics.median(times)


class Ours:
    def __init__(self, arguments, path):
        self.command = [arguments.tilewright, "run", f"{path}.pt2", "--inputs",
                        f"{path}.safetensors", "--outputs", f"{path}.out", "--json", "--freezing",
                        "--mode", "reduce-overhead", "--threads", str(arguments.threads),
                        "--device", arguments.device, "--matmul-precision", arguments.matmul_precision]
        self.path, self.first_s = path, None

    def run(self, repeat):
        ended = subprocess.run(self.command + ["--repeat", str(repeat)], capture_output=True, text=True)
        if ended.returncode != 0:
            raise RuntimeError(f"{' '.join(self.command)}: {ended.stderr}")
        told = json.loads(ended.stdout)
        self.first_s = self.first_s or told["load_s"] + told["first_s"]
        return told["median_s"]

    def error(self):
        wanted = load_file(f"{self.path}.safetensors")["out.0"].float()
        got = load_file(f"{self.path}.out")["out.0"].float()
        return ((got - wanted).abs().max() / wanted.abs().max()).item()


def peers_of(arguments, path, x):
    program = torch.export.load(f"{path}.pt2")
    if on_gpu(arguments):
        from torch.export.passes import move_to_device_pass
        program, x = move_to_device_pass(program, arguments.device), x.to(arguments.device)
    module = program.module()
    if on_gpu(arguments) and x.dim() == 4:
        try:
            last = module.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
            last[0](last[1])
            module, x = last
        except RuntimeError:  # a view of the program wants channels where they were
            module = program.module()

    def called(function):
        function(x)
        if on_gpu(arguments):
            torch.cuda.synchronize()
    peers, first = {"torch": lambda: called(module)}, {}
    if has_onnxruntime(arguments):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = arguments.threads
        begin = time.perf_counter()
        session = onnxruntime.InferenceSession(f"{path}.onnx", options)
        name, values = session.get_inputs()[0].name, x.numpy()
        peers["onnxruntime"] = lambda: session.run(None, {name: values})
        peers["onnxruntime"]()
        first["onnxruntime"] = time.perf_counter() - begin
    peers["torch"]()
    if "inductor" not in arguments.without:
        inductor.freezing = True
        compiled = torch.compile(module, mode="reduce-overhead" if on_gpu(arguments) else None)
        peers["inductor"] = lambda: called(compiled)
        first["inductor"] = seconds(peers["inductor"])
        peers["inductor"]()
    return {name: call for name, call in peers.items() if name not in arguments.without}, first


def on_gpu(arguments):
    return arguments.device.startswith("cuda")


def path_of(arguments, name, batch):
    of_dtype = "" if arguments.dtype == "f32" else f"_{arguments.dtype}"
    return arguments.folder / f"{name}_{batch}{of_dtype}"


def measured(arguments, name, batch):
    path = path_of(arguments, name, batch)
    x = load_file(f"{path}.safetensors")["in.0"]
    ours, (peers, first) = Ours(arguments, path), peers_of(arguments, path, x)
    times = {peer: [] for peer in ["tilewright", *peers]}
    for _ in range(arguments.rounds):
        for peer, call in peers.items():
            times[peer].append(median_of_calls(call))
        a_call = min(times[peer][-1] for peer in peers)
        times["tilewright"].append(ours.run(max(4, min(2000, int(0.3 / a_call)))))
    middle = {peer: statistics.median(all_times) for peer, all_times in times.items()}
    best = min(peers, key=middle.get)
    shown = name.replace("_", " ") if arguments.convolutions else name
    return {"case": shown, "batch": batch, "seconds": middle["tilewright"],
            "first_call_s": ours.first_s, "error": ours.error(), "peer": best,
            "ratio": middle[best] / middle["tilewright"],
            "peers": {peer: {"seconds": middle[peer], "first_call_s": first.get(peer)}
                      for peer in peers}}


def processor():
    with open("/proc/cpuinfo") as file:
        return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tilewright", default="build/release/tilewright")
    parser.add_argument("--models", nargs="*")
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 8])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--matmul-precision", default="highest",
                        help="of ours; with high convolutions may be transformed")
    parser.add_argument("--dtype", choices=DTYPES, default="f32")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda:0")
    parser.add_argument("--convolutions", action="store_true", help="single ones instead of networks")
    parser.add_argument("--only-write", action="store_true", help="write the programs and time nothing")
    arguments = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = arguments.matmul_precision != "highest"
    torch.backends.cuda.matmul.allow_tf32 = arguments.matmul_precision != "highest"
    torch.manual_seed(0)
    torch.set_num_threads(arguments.threads)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    results = []
    cases = convolutions() if arguments.convolutions else networks()
    with torch.no_grad():
        for name, (make, data) in cases.items():
            for batch in arguments.batches if name in (arguments.models or cases) else []:
                path = path_of(arguments, name, batch)
                if not pathlib.Path(f"{path}.safetensors").exists():
                    write(path, make, data, batch, arguments)
                if arguments.only_write:
                    continue
                try:
                    results.append(measured(arguments, name, batch))
                    print(results[-1], file=sys.stderr, flush=True)
                except RuntimeError as error:
                    print(f"{name}_{batch}: {error}", file=sys.stderr, flush=True)
                torch.compiler.reset()
    if arguments.only_write:
        return
    ratios = [result["ratio"] for result in results] or [math.nan]
    json.dump({"bench": "convolutions" if arguments.convolutions else "exported", "command": " ".join(["tools/peers/exported_models.py",
                                                         *sys.argv[1:]]),
               "date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name() if on_gpu(arguments) else processor(),
               "threads": arguments.threads, "dtype": arguments.dtype,
               "mode": f"reduce-overhead, frozen, matmul precision {arguments.matmul_precision}",
               "torch": torch.__version__,
               "geomean_ratio": math.exp(sum(map(math.log, ratios)) / len(ratios)),
               "results": results}, answers, indent=1)
    answers.write("\n")


if __name__ == "__main__":
    main()
