"""Writes the pickles beside it: tiny snapshots in the layout of each era of torch, by Python's own pickler."""

import pathlib
import pickle

HERE = pathlib.Path(__file__).parent
NO_FRAMES = []


def frame(filename, line, name, **fx):
    return {"name": name, "filename": filename, "line": line, **fx}


MAIN = frame("train.py", 40, "<module>")
STEP = frame("train.py", 18, "step")
LINEAR = frame("/site/torch/nn/modules/linear.py", 125, "forward")
UNKNOWN = {"name": "_start", "filename": "??", "line": 0}


def segment(address, total_size, blocks, **more):
    return {
        "device": 0,
        "address": address,
        "total_size": total_size,
        "allocated_size": sum(b["size"] for b in blocks if b["state"] == "active_allocated"),
        "active_size": sum(b["size"] for b in blocks if b["state"] != "inactive"),
        "requested_size": sum(b["requested_size"] for b in blocks if b["state"] == "active_allocated"),
        "stream": 0,
        "segment_type": "large" if total_size > 2 << 20 else "small",
        **more,
        "blocks": blocks,
    }


def without(key, entries):
    return [{k: v for k, v in entry.items() if k != key} for entry in entries]


# torch.cuda.memory_snapshot() of torch 1.10: a list, no requested sizes.
bare = [
    segment(
        0x1000,
        1024,
        [
            {"size": 512, "requested_size": 0, "state": "active_allocated"},
            {"size": 512, "requested_size": 0, "state": "inactive"},
        ],
    )
]
bare[0].pop("requested_size")
bare[0]["blocks"] = without("requested_size", bare[0]["blocks"])

# torch 2.0: `history`, newest first, keys of frames in another order, no addresses of blocks.
old = {
    "segments": [
        segment(
            0x7F0000000000,
            2048,
            [
                {
                    "size": 512,
                    "requested_size": 500,
                    "state": "active_allocated",
                    "history": [
                        {
                            "addr": 0x7F0000000000,
                            "real_size": 500,
                            "frames": [
                                {"filename": "train.py", "name": "step", "line": 18},
                                {"filename": "train.py", "name": "<module>", "line": 40},
                            ],
                        }
                    ],
                },
                {
                    "size": 1024,
                    "state": "active_pending_free",
                    "requested_size": 1000,
                    "history": [{"addr": 0x7F0000000200, "real_size": 1000}],
                },
                {"size": 512, "requested_size": 0, "state": "inactive"},
            ],
        )
    ],
    "device_traces": [[{"action": "snapshot", "addr": 0, "size": 1500, "stream": 0}]],
}
del old["segments"][0]["blocks"][1]["requested_size"]

# torch 2.1 and 2.2: `frames` and addresses, no times; segment_free has no frames.
middle = {
    "segments": [
        segment(
            0x2000,
            512,
            [
                {
                    "address": 0x2000,
                    "size": 512,
                    "requested_size": 4,
                    "state": "active_awaiting_free",
                    "frames": [STEP, MAIN],
                }
            ],
            segment_pool_id=(0, 0),
            is_expandable=False,
            frames=NO_FRAMES,
        )
    ],
    "device_traces": [
        [],
        [
            {"action": "alloc", "addr": 0x2000, "size": 512, "stream": 7, "frames": [STEP, MAIN]},
            {"action": "segment_free", "addr": 0x9000, "size": 2097152, "stream": 0},
        ],
    ],
    "allocator_settings": {
        "PYTORCH_CUDA_ALLOC_CONF": "",
        "max_split_size": -1,
        "garbage_collection_threshold": 0.0,
        "expandable_segments": False,
    },
}


# torch 2.11: everything at once, and what a later version might add.
def event(action, address, size, us, frames=None, **more):
    place = "device_free" if action == "oom" else "addr"
    entry = {
        "action": action,
        place: address,
        "size": size,
        "stream": 0,
        "time_us": us,
        "compile_context": "N/A",
        "user_metadata": "",
        **more,
    }
    return entry if frames is None else {**entry, "frames": frames}


stack = [LINEAR, STEP, MAIN]
T0 = 1783874495959433
new = {
    "segments": [
        segment(
            0xFFFF800000000000,
            4 << 20,
            [
                {
                    "address": 0xFFFF800000000000,
                    "size": 2 << 20,
                    "requested_size": 2000000,
                    "state": "active_allocated",
                    "frames": stack,
                },
                {
                    "address": 0xFFFF800000200000,
                    "size": 2 << 20,
                    "requested_size": 0,
                    "state": "inactive",
                    "frames": NO_FRAMES,
                },
            ],
            segment_pool_id=(0, 3),
            is_expandable=True,
            frames=[UNKNOWN],
        ),
        segment(0x3000, 512, [], segment_pool_id=(0, 0), is_expandable=False, frames=NO_FRAMES),
    ],
    "device_traces": [
        [
            event("segment_map", 0xFFFF800000000000, 2 << 20, T0, stack),
            event("alloc", 0xFFFF800000000000, 2 << 20, T0 + 1, list(stack), compile_context="0/1"),
            event("annotate", 0, 0, T0 + 2, user_metadata="epoch 1"),
            event(
                "oom",
                1024,
                1 << 40,
                T0 + 3,
                [
                    UNKNOWN,
                    frame(
                        "model.py",
                        7,
                        "forward",
                        fx_node_op="call_function",
                        fx_node_name="mm",
                        fx_original_trace="model.py",
                    ),
                ],
            ),
            event("free_requested", 0xFFFF800000000000, 2 << 20, T0 + 4, NO_FRAMES),
            event("free_completed", 0xFFFF800000000000, 2 << 20, T0 + 5),
            event("segment_unmap", 0xFFFF800000000000, 2 << 20, T0 + 6),
            event("segment_alloc", 0x3000, 512, T0 + 7),
            event("segment_free", 0x3000, 512, T0 + 8),
            event("snapshot", 0, 0, T0 + 9),
            event("defragment", 0x3000, 512, T0 + 10, cause="novel"),
        ]
    ],
    "allocator_settings": {
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "max_split_size": 1 << 27,
        "garbage_collection_threshold": 0.5,
        "expandable_segments": True,
        "roundup_power2_divisions": {"1": 0},
    },
    "external_annotations": [
        {"stage": "START", "name": "Optimizer.step#AdamW.step", "device": 0, "time_us": T0},
        {"stage": "END", "name": "Optimizer.step#AdamW.step", "device": 0, "time_us": T0 + 9},
    ],
}

for name, value, protocol in [
    ("list", bare, 3),
    ("torch2.0", old, 4),
    ("torch2.2", middle, 4),
    *((f"torch2.11.protocol{protocol}", new, protocol) for protocol in range(6)),
]:
    (HERE / f"{name}.pickle").write_bytes(pickle.dumps(value, protocol))
