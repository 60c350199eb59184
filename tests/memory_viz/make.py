"""Writes the *.pickle.gz beside it: memory snapshots as torch 2.9 lays them out, from a made-up allocator.

The sizes, addresses and frames are invented, so that what each file shows is known exactly:

- training: six steps of a small model. Parameters from before recording; activations that the backward pass gives
  back; gradients from autograd's own threads, which have C++ frames only; optimizer state; a loss kept by every step
  (`losses.append(loss)`); a cache that grows by 1 MiB in every step.
- out_of_memory: a request that the reserved memory would hold, but for its pieces; then one that nothing would hold.
- ring_buffer: a history that lost its oldest events, and releases that wait for a stream.
"""

import gzip
import pickle
from pathlib import Path

MIB = 1 << 20
HERE = Path(__file__).parent
# Address of the segment.
START = 0x7F0000000000


def frame(filename, line, name):
    return {"filename": filename, "line": line, "name": name}


MAIN = frame("train.py", 60, "<module>")
ENGINE = [frame("??", 0, "torch::autograd::Engine::evaluate_function(...)"), frame("??", 0, "__clone")]
BACKWARD = [
    frame("/site-packages/torch/autograd/graph.py", 824, "_engine_run_backward"),
    frame("train.py", 44, "train_step"),
    MAIN,
]
FORWARD = [
    frame("/site-packages/torch/nn/modules/linear.py", 125, "forward"),
    frame("train.py", 17, "forward"),
    frame("train.py", 41, "train_step"),
    MAIN,
]
LOSS = [
    frame("/site-packages/torch/nn/functional.py", 3494, "cross_entropy"),
    frame("train.py", 42, "train_step"),
    MAIN,
]
CACHE = [frame("train.py", 43, "train_step"), MAIN]
OPTIMIZER = [
    frame("/site-packages/torch/optim/adam.py", 150, "_init_group"),
    frame("/site-packages/torch/optim/optimizer.py", 516, "wrapper"),
    frame("train.py", 45, "train_step"),
    MAIN,
]
GROW = [frame("train.py", 70, "grow"), MAIN]


class Device:
    """An allocator that never reuses an address, in one segment."""

    def __init__(self):
        self.events, self.blocks, self.annotations = [], {}, []
        self.next, self.time = START, 1_700_000_000_000_000

    def event(self, action, addr, size, frames=None, **more):
        self.time += 10
        event = {
            "action": action,
            "addr": addr,
            "size": size,
            "stream": 0,
            "time_us": self.time,
            "compile_context": "N/A",
            "user_metadata": "",
        }
        if frames is not None:
            event["frames"] = frames
        self.events.append({**event, **more})

    def place(self, size):
        addr, self.next = self.next, self.next + (size + 511) // 512 * 512
        return addr

    def before(self, size):
        addr = self.place(size)
        self.blocks[addr] = (size, [])
        return addr

    def alloc(self, size, frames):
        addr = self.place(size)
        self.event("alloc", addr, size, frames)
        self.blocks[addr] = (size, frames)
        return addr

    def free(self, addr, frames=(), is_deferred=False):
        size, _ = self.blocks.pop(addr)
        self.event("free_requested", addr, size, list(frames))
        if not is_deferred:
            self.event("free_completed", addr, size, list(frames))
        return addr, size

    def annotate(self, stage, name):
        self.time += 1
        self.annotations.append({"stage": stage, "name": name, "device": 0, "time_us": self.time})

    def snapshot(self):
        blocks, at = [], START
        for addr, (size, frames) in sorted(self.blocks.items()):
            if at < addr:
                blocks.append(free_block(at, addr - at))
            rounded = (size + 511) // 512 * 512
            blocks.append(
                {
                    "address": addr,
                    "size": rounded,
                    "requested_size": size,
                    "state": "active_allocated",
                    "frames": frames,
                }
            )
            at = addr + rounded
        if at < self.next:
            blocks.append(free_block(at, self.next - at))
        return whole([segment(START, blocks)], self.events, self.annotations)


def free_block(address, size):
    return {"address": address, "size": size, "requested_size": 0, "state": "inactive", "frames": []}


def segment(address, blocks):
    total = sum(block["size"] for block in blocks)
    active = sum(block["size"] for block in blocks if block["state"] != "inactive")
    requested = sum(block["requested_size"] for block in blocks if block["state"] != "inactive")
    return {
        "device": 0,
        "address": address,
        "total_size": total,
        "allocated_size": active,
        "active_size": active,
        "requested_size": requested,
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": blocks,
    }


def whole(segments, events, annotations=()):
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False}
    return {
        "segments": segments,
        "device_traces": [events],
        "allocator_settings": settings,
        "external_annotations": list(annotations),
    }


def training():
    device = Device()
    for _ in range(4):
        device.before(8 * MIB)
    state = []
    for step in range(6):
        device.annotate("START", f"ProfilerStep#{step}")
        activations = [device.alloc(3 * MIB, FORWARD) for _ in range(4)]
        device.alloc(4, LOSS)
        device.alloc(MIB, CACHE)
        gradients = []
        for activation in reversed(activations):
            gradients.append(device.alloc(8 * MIB, ENGINE))
            device.free(activation, ENGINE)
        if not state:
            state = [device.alloc(8 * MIB, OPTIMIZER) for _ in range(8)]
        for gradient in gradients:
            device.free(gradient, BACKWARD)
        device.annotate("END", f"ProfilerStep#{step}")
    return device.snapshot()


def out_of_memory():
    device = Device()
    addresses = [device.alloc(16 * MIB, FORWARD) for _ in range(8)]
    for addr in addresses[::2]:
        device.free(addr)
    device.event("oom", 0, 48 * MIB, GROW, device_free=4 * MIB)
    device.event("oom", 0, 192 * MIB, GROW, device_free=4 * MIB)
    for event in device.events[-2:]:
        del event["addr"]
    return device.snapshot()


def ring_buffer():
    device = Device()
    device.before(MIB)
    old = [device.alloc(2 * MIB, FORWARD) for _ in range(3)]
    waits = [device.alloc(MIB, LOSS) for _ in range(2)]
    device.free(old[0])
    pending = [device.free(addr, is_deferred=True) for addr in waits]
    device.alloc(700, CACHE)
    for addr, size in pending:
        device.event("free_completed", addr, size, [])
    snapshot = device.snapshot()
    snapshot["device_traces"][0] = snapshot["device_traces"][0][2:]
    return snapshot


def main():
    for make in (training, out_of_memory, ring_buffer):
        data = pickle.dumps(make(), protocol=4)
        path = HERE / f"{make.__name__}.pickle.gz"
        path.write_bytes(gzip.compress(data, mtime=0))


if __name__ == "__main__":
    main()
