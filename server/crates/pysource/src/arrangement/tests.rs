//! Texts that ran, made of what became of them.

use super::{RecordedCall, arranged};

const RAN: &str = "\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        x = self.up(x)
        x = torch.relu(x)
        return self.down(x)


class Loss(torch.nn.Module):
    def forward(self, a, b):
        d = a - b
        return d.abs().mean()


def step(net, loss, x):
    y = net(x)
    value = mse_loss(y, x)
    value.backward()
";

fn functions() -> Vec<(String, u32)> {
    [("forward", 5), ("forward", 12), ("step", 17)]
        .map(|(name, line)| (name.to_owned(), line))
        .to_vec()
}

fn calls() -> Vec<RecordedCall> {
    [
        (6, "_wrapped_call_impl"),
        (7, "relu"),
        (8, "_wrapped_call_impl"),
        (14, "abs"),
        (14, "mean"),
        (18, "_wrapped_call_impl"),
        (19, "mse_loss"),
        (20, "backward"),
    ]
    .map(|(line, name)| RecordedCall {
        line,
        name: name.to_owned(),
        is_built_in: ["relu", "abs", "mean"].contains(&name),
    })
    .to_vec()
}

/// The text that is made of `current`, for a text that ran with functions and calls there.
fn arrange(current: &str, calls: &[RecordedCall]) -> String {
    arranged(current, &functions(), calls).unwrap_or_default()
}

/// The lines of two texts that differ, from 1.
fn differing(one: &str, other: &str) -> Vec<usize> {
    let n_lines = one.lines().count().max(other.lines().count());
    let line = |text: &str, at: usize| text.lines().nth(at).unwrap_or_default().to_owned();
    (0..n_lines).filter(|&at| line(one, at) != line(other, at)).map(|at| at + 1).collect()
}

#[test]
fn what_is_as_it_was_stays() {
    assert_eq!(arrange(RAN, &[]), RAN);
    assert_eq!(arrange(RAN, &calls()), RAN);
}

#[test]
fn functions_go_where_they_ran() {
    let more = format!("\"\"\"What it is.\n\nMore of it.\n\"\"\"\nimport os\n{RAN}");
    let less = RAN.replace("import torch\n\n\n", "");
    for calls in [Vec::new(), calls()] {
        // There is no room for all that stands before them.
        assert_eq!(differing(&arrange(&more, &calls), RAN), [1, 2], "{}", arrange(&more, &calls));
        assert_eq!(differing(&arrange(&less, &calls), RAN), [1], "{}", arrange(&less, &calls));
    }
}

#[test]
fn lines_that_came_later_are_left_out_where_calls_are_known() {
    let edited = RAN
        .replace(
            "        x = torch.relu(x)\n",
            "        print(x)\n        print(1)\n        print(2)\n        x = torch.relu(x)\n",
        )
        .replace(
            "    value = mse_loss(y, x)\n",
            "    with torch.no_grad():\n        value = mse_loss(y, x)\n",
        );
    assert_eq!(
        differing(&arrange(&edited, &calls()), RAN),
        [0; 0],
        "{}",
        arrange(&edited, &calls())
    );
    // Else nothing says which of them it was.
    let bodies = arrange(&edited, &[]);
    assert_eq!(differing(&bodies, RAN), [5, 6, 7, 8, 19, 20, 21], "{bodies}");
    assert!(bodies.contains("    def forward(self, x): ...\n\n"), "{bodies}");
}

#[test]
fn empty_lines_stand_for_what_was_taken_away() {
    let edited = RAN.replace("        x = torch.relu(x)\n", "").replace("    y = net(x)\n", "");
    assert_eq!(
        differing(&arrange(&edited, &calls()), RAN),
        [7, 18],
        "{}",
        arrange(&edited, &calls())
    );
}

#[test]
fn what_a_formatter_broke_is_joined() {
    let edited = RAN
        .replace("torch.relu(x)", "torch.relu(\n            x\n        )")
        .replace("net, loss, x):", "\n    net,\n    loss, x\n):");
    let arranged = arrange(&edited, &calls());
    assert_eq!(differing(&arranged, RAN), [7, 17], "{arranged}");
    assert!(arranged.contains("        x = torch.relu( x )\n"), "{arranged}");
}

#[test]
fn a_renamed_function_is_known_by_its_place() {
    let edited = RAN
        .replace("def step", "def train_step")
        .replace("import torch", "import os\nimport torch");
    assert_eq!(differing(&arrange(&edited, &[]), RAN), [1, 2, 17], "{}", arrange(&edited, &[]));
}

#[test]
fn of_another_program_nothing_is_made() {
    assert_eq!(arrange("def other():\n    pass\n", &calls()), "");
    assert_eq!(arrange("", &calls()), "");
    assert_eq!(arrange("def forward(", &[]), "");
}
