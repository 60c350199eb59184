//! How many floating-point operations an operator needs, from what its arguments were: the formulas of PyTorch's
//! `torch/utils/flop_counter.py`. (PyTorch counts FLOPs itself with `with_flops=True`, but does not write them into traces,
//! and leaves attention out there.)

use ledger::{Bytes, Precision, ProductSizes};
use serde_json::Value;

/// What an operator does at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperatorCost {
    /// A multiply-add counts as two.
    pub(crate) flops: u64,
    /// Every tensor that it reads or writes, once.
    pub(crate) bytes: Bytes,
    /// By the type of its matrices; float32 may be TF32 on a device.
    pub(crate) precision: Precision,
    /// The sizes, if it is a product of matrices.
    pub(crate) sizes: Option<ProductSizes>,
}

/// The cost of the operator `name` with the JSON texts of `Input Dims`, `Input type` and `Concrete Inputs`; `None` if there is
/// no formula for it, or the recording says too little.
pub(crate) fn cost(name: &str, dims: &str, types: &str, concrete: &str) -> Option<OperatorCost> {
    let formula = FORMULAS.iter().find(|(it, _)| *it == name).map(|(_, formula)| *formula)?;
    let arguments = OperatorArguments {
        dims: serde_json::from_str(dims).ok()?,
        types: serde_json::from_str(types).ok()?,
        concrete: serde_json::from_str(concrete).unwrap_or_default(),
    };
    formula(&arguments)
}

/// Whether there is a formula for the operator `name`.
pub(crate) fn is_counted(name: &str) -> bool {
    FORMULAS.iter().any(|(it, _)| *it == name)
}

type Formula = fn(&OperatorArguments) -> Option<OperatorCost>;

const FORMULAS: &[(&str, Formula)] = &[
    ("aten::mm", |it| it.product(0, 1, None)),
    ("aten::bmm", |it| it.product(0, 1, None)),
    ("aten::addmm", |it| it.product(1, 2, Some(0))),
    ("aten::baddbmm", |it| it.product(1, 2, Some(0))),
    ("aten::_scaled_mm", |it| it.product(0, 1, None)),
    ("aten::convolution", OperatorArguments::convolution),
    ("aten::_convolution", OperatorArguments::convolution),
    ("aten::convolution_backward", OperatorArguments::convolution_backward),
    ("aten::_scaled_dot_product_flash_attention", OperatorArguments::attention),
    ("aten::_scaled_dot_product_efficient_attention", OperatorArguments::attention),
    ("aten::_scaled_dot_product_cudnn_attention", OperatorArguments::attention),
    ("aten::_scaled_dot_product_flash_attention_for_cpu", OperatorArguments::attention),
    ("aten::_scaled_dot_product_flash_attention_backward", OperatorArguments::attention_backward),
    (
        "aten::_scaled_dot_product_efficient_attention_backward",
        OperatorArguments::attention_backward,
    ),
    ("aten::_scaled_dot_product_cudnn_attention_backward", OperatorArguments::attention_backward),
    (
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
        OperatorArguments::attention_backward,
    ),
];

/// What the recording says about an operator's arguments.
struct OperatorArguments {
    dims: Vec<Value>,
    types: Vec<String>,
    concrete: Vec<Value>,
}

impl OperatorArguments {
    /// The dimensions of the tensor at `index`.
    fn tensor(&self, index: usize) -> Option<Vec<u64>> {
        let dims = self.dims.get(index)?.as_array()?;
        dims.iter().map(Value::as_u64).collect()
    }

    /// The precision of the tensor at `index`, and the bytes of one element.
    fn element(&self, index: usize) -> Option<(Precision, u64)> {
        match self.types.get(index)?.as_str() {
            "double" => Some((Precision::F64, 8)),
            "float" => Some((Precision::F32, 4)),
            "c10::Half" | "c10::BFloat16" => Some((Precision::F16, 2)),
            name if name.starts_with("c10::Float8") => Some((Precision::F8, 1)),
            _ => None,
        }
    }

    /// A list of numbers among the arguments that are no tensors: `"[1, 1]"`.
    fn list(&self, index: usize) -> Option<Vec<u64>> {
        serde_json::from_str(self.concrete.get(index)?.as_str()?).ok()
    }

    fn flag(&self, index: usize) -> Option<bool> {
        match self.concrete.get(index)?.as_str()? {
            "True" => Some(true),
            "False" => Some(false),
            _ => None,
        }
    }

    fn cost(
        &self,
        of: usize,
        flops: Option<u64>,
        elements: &[Option<u64>],
    ) -> Option<OperatorCost> {
        let (precision, size) = self.element(of)?;
        let elements = elements.iter().try_fold(0_u64, |sum, it| sum.checked_add((*it)?))?;
        let bytes = Bytes(i64::try_from(elements.checked_mul(size)?).ok()?);
        Some(OperatorCost { flops: flops?, bytes, precision, sizes: None })
    }

    /// Products of matrices, or of as many as there are in a batch, added to something.
    fn product(&self, left: usize, right: usize, added: Option<usize>) -> Option<OperatorCost> {
        let (a, b) = (self.tensor(left)?, self.tensor(right)?);
        let (&[ref batch @ .., m, k], &[.., inner, n]) = (a.as_slice(), b.as_slice()) else {
            return None;
        };
        if inner != k || a.len() != b.len() {
            return None;
        }
        let batch = product(batch)?;
        let added = match added {
            Some(index) => self.tensor(index).map_or(Some(0), |it| product(&it)),
            None => Some(0),
        };
        let flops = product(&[2, batch, m, k, n]);
        let elements = [product(&a), product(&b), product(&[batch, m, n]), added];
        let cost = self.cost(left, flops, &elements)?;
        Some(OperatorCost { sizes: Some(ProductSizes { batch, m, n, k }), ..cost })
    }

    fn convolution(&self) -> Option<OperatorCost> {
        let (input, weight) = (self.tensor(0)?, self.tensor(1)?);
        let (stride, padding) = (self.list(3)?, self.list(4)?);
        let (dilation, is_transposed) = (self.list(5)?, self.flag(6)?);
        let is_whole = input.len() == weight.len() && input.len() > 2;
        let kernel = weight.get(2..).filter(|_| is_whole)?;
        let size = &input[2..];
        // PyTorch writes one number for all dimensions where it was given so.
        let of = |list: &[u64], at: usize| list.get(at).or(list.first()).copied();
        let output: Vec<u64> = (0..size.len())
            .map(|at| {
                let (stride, padding) = (of(&stride, at)?, of(&padding, at)?);
                let reach = of(&dilation, at)?.checked_mul(kernel[at].checked_sub(1)?)?;
                if is_transposed {
                    let grown = size[at].checked_sub(1)?.checked_mul(stride)?;
                    return grown.checked_add(reach + 1)?.checked_sub(2 * padding);
                }
                let room = size[at].checked_add(2 * padding)?.checked_sub(reach + 1)?;
                Some(room.checked_div(stride)? + 1)
            })
            .collect::<Option<_>>()?;
        let channels = if is_transposed {
            let groups: u64 = self.concrete.get(8)?.as_str()?.parse().ok()?;
            weight[1].checked_mul(groups)?
        } else {
            weight[0]
        };
        let positions = if is_transposed { size } else { output.as_slice() };
        let flops = convolved(input[0], positions, &weight);
        let written = product(&output).and_then(|it| product(&[it, input[0], channels]));
        self.cost(0, flops, &[product(&input), product(&weight), written])
    }

    /// The gradient of the input costs as much as the convolution, and that of the weight too.
    fn convolution_backward(&self) -> Option<OperatorCost> {
        let (gradient, input, weight) = (self.tensor(0)?, self.tensor(1)?, self.tensor(2)?);
        if gradient.len() != weight.len() || input.len() != weight.len() || weight.len() <= 2 {
            return None;
        }
        let positions = if self.flag(7)? { &input[2..] } else { &gradient[2..] };
        let mask = self.concrete.get(10)?.as_str()?.to_lowercase();
        let mask: Vec<bool> = serde_json::from_str(&mask).ok()?;
        let (of_input, of_weight) = (u64::from(*mask.first()?), u64::from(*mask.get(1)?));
        let once = convolved(input[0], positions, &weight);
        let flops = once.and_then(|once| once.checked_mul(of_input + of_weight));
        let elements = [
            product(&gradient),
            product(&input).map(|it| it * (of_input + of_weight)),
            product(&weight).map(|it| it * (of_input + of_weight)),
        ];
        self.cost(0, flops, &elements)
    }

    /// Queries times keys, and the scores times values. That some are masked is not counted.
    fn attention(&self) -> Option<OperatorCost> {
        let it = Attention::new(self, 0)?;
        let flops = it.products(&[it.depth, it.value_depth]);
        self.cost(0, flops, &[it.queries(), it.keys(), it.values(), it.output()])
    }

    /// Scores again; gradients of the scores, the values, the queries and the keys.
    fn attention_backward(&self) -> Option<OperatorCost> {
        let it = Attention::new(self, 1)?;
        let flops = it.products(&[it.depth, it.value_depth, it.value_depth, it.depth, it.depth]);
        let both_ways = [it.queries(), it.keys(), it.values(), it.output()];
        self.cost(1, flops, &[both_ways, both_ways].concat())
    }
}

/// Sizes of an attention whose tensors are `[batch, heads, length, depth]`.
struct Attention {
    batch: u64,
    heads: u64,
    key_heads: u64,
    length: u64,
    key_length: u64,
    depth: u64,
    value_depth: u64,
}

impl Attention {
    fn new(arguments: &OperatorArguments, first: usize) -> Option<Self> {
        let tensor = |index| -> Option<[u64; 4]> { arguments.tensor(index)?.try_into().ok() };
        let [batch, heads, length, depth] = tensor(first)?;
        let [_, key_heads, key_length, _] = tensor(first + 1)?;
        let [.., value_depth] = tensor(first + 2)?;
        Some(Self { batch, heads, key_heads, length, key_length, depth, value_depth })
    }

    /// One product over each of `depths`.
    fn products(&self, depths: &[u64]) -> Option<u64> {
        let depth = depths.iter().sum();
        product(&[2, self.batch, self.heads, self.length, self.key_length, depth])
    }

    fn queries(&self) -> Option<u64> {
        product(&[self.batch, self.heads, self.length, self.depth])
    }

    fn keys(&self) -> Option<u64> {
        product(&[self.batch, self.key_heads, self.key_length, self.depth])
    }

    fn values(&self) -> Option<u64> {
        product(&[self.batch, self.key_heads, self.key_length, self.value_depth])
    }

    fn output(&self) -> Option<u64> {
        product(&[self.batch, self.heads, self.length, self.value_depth])
    }
}

fn product(factors: &[u64]) -> Option<u64> {
    factors.iter().try_fold(1_u64, |product, &factor| product.checked_mul(factor))
}

/// FLOPs of applying `weight` at every one of `positions`. Its second dimension is the channels of one group.
fn convolved(batch: u64, positions: &[u64], weight: &[u64]) -> Option<u64> {
    product(&[2, batch, product(positions)?, product(weight)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FLOPs as `torch.utils.flop_counter.FlopCounterMode` (2.15) counts them for the same arguments, but for what is said.
    #[test]
    fn flops_are_as_pytorch_counts_them() {
        let float = r#"["float", "float", "float", "float", "float", "float"]"#;
        let half = r#"["c10::Half", "c10::Half", "c10::Half", "c10::Half", "c10::Half"]"#;
        let conv = |stride: u32, transposed: &str, groups: u32| {
            format!(
                r#"["", "", "", "[{stride}, {stride}]", "[1, 1]", "[1, 1]", "{transposed}", "[0, 0]", "{groups}"]"#
            )
        };
        let backward = |mask: &str| {
            format!(
                r#"["", "", "", "[8]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "{mask}"]"#
            )
        };
        let rows = [
            ("aten::mm", "[[64, 32], [32, 16]]", float, String::new(), 65_536, 4 * 3_584),
            ("aten::mm", "[[64, 32], [32, 16]]", half, String::new(), 65_536, 2 * 3_584),
            (
                "aten::addmm",
                "[[16], [64, 32], [32, 16], [], []]",
                float,
                String::new(),
                65_536,
                4 * 3_600,
            ),
            ("aten::bmm", "[[8, 64, 32], [8, 32, 16]]", float, String::new(), 524_288, 4 * 28_672),
            (
                "aten::baddbmm",
                "[[8, 64, 16], [8, 64, 32], [8, 32, 16], [], []]",
                float,
                String::new(),
                524_288,
                4 * 36_864,
            ),
            (
                "aten::convolution",
                "[[2, 3, 16, 16], [8, 3, 3, 3], [8], [], [], [], [], [], []]",
                float,
                conv(1, "False", 1),
                221_184,
                4 * 5_848,
            ),
            (
                "aten::convolution",
                "[[2, 3, 16, 16], [8, 3, 3, 3], [8], [], [], [], [], [], []]",
                float,
                conv(2, "False", 1),
                55_296,
                4 * 2_776,
            ),
            (
                "aten::convolution",
                "[[2, 6, 16, 16], [8, 3, 3, 3], [8], [], [], [], [], [], []]",
                float,
                conv(1, "False", 2),
                221_184,
                4 * 7_384,
            ),
            (
                "aten::convolution",
                "[[2, 8, 16, 16], [8, 3, 3, 3], [3], [], [], [], [], [], []]",
                float,
                conv(2, "True", 1),
                221_184,
                4 * 10_078,
            ),
            (
                "aten::convolution_backward",
                "[[2, 8, 16, 16], [2, 3, 16, 16], [8, 3, 3, 3], []]",
                float,
                backward("[True, True, True]"),
                442_368,
                4 * 7_600,
            ),
            (
                "aten::convolution_backward",
                "[[2, 8, 16, 16], [2, 3, 16, 16], [8, 3, 3, 3], []]",
                float,
                backward("[False, True, True]"),
                221_184,
                4 * 5_848,
            ),
            (
                "aten::_scaled_dot_product_flash_attention",
                "[[2, 4, 8, 16], [2, 4, 32, 16], [2, 4, 32, 16]]",
                half,
                String::new(),
                131_072,
                2 * 10_240,
            ),
            (
                "aten::_scaled_dot_product_flash_attention_backward",
                "[[2, 4, 8, 16], [2, 4, 8, 16], [2, 4, 32, 16], [2, 4, 32, 16]]",
                half,
                String::new(),
                327_680,
                2 * 20_480,
            ),
        ];
        for (name, dims, types, concrete, flops, bytes) in rows {
            let found = cost(name, dims, types, &concrete);
            assert_eq!(
                found.map(|it| (it.flops, it.bytes)),
                Some((flops, Bytes(bytes))),
                "{name} {dims}"
            );
        }
    }

    #[test]
    fn products_have_sizes() {
        let types = r#"["float", "float"]"#;
        let sizes = |name, dims| cost(name, dims, types, "").and_then(|it| it.sizes);
        assert_eq!(
            sizes("aten::bmm", "[[8, 64, 32], [8, 32, 16]]"),
            Some(ProductSizes { batch: 8, m: 64, n: 16, k: 32 })
        );
        assert_eq!(sizes("aten::mm", "[[64, 32]]"), None);
    }

    #[test]
    fn what_says_too_little_or_nonsense_costs_nothing() {
        let float = r#"["float", "float", "float"]"#;
        let rows = [
            ("aten::mul", "[[4], [4]]", float),
            ("aten::mm", "[[64, 32], [16, 32]]", float),
            ("aten::mm", "[[64, 32]]", float),
            ("aten::mm", "[[64, 32], [32, 16]]", r#"["long int", "long int"]"#),
            ("aten::mm", "[[9223372036854775807, 32], [32, 16]]", float),
            ("aten::mm", "[[-1, 32], [32, 16]]", float),
            ("aten::mm", "", float),
            ("aten::convolution", "[[2, 3, 16, 16], [8, 3, 3, 3], [8]]", float),
        ];
        for (name, dims, types) in rows {
            assert_eq!(cost(name, dims, types, ""), None, "{name} {dims}");
        }
    }
}
