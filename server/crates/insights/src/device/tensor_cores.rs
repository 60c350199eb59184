//! Rules `tensor-cores-unused` and `tensor-cores-unaligned`: matrix products beside the tensor cores, or on them with sizes
//! that do not fit.

use ledger::{
    Kernel, KernelClass, KernelKey, Ledger, LineBooks, LineKey, Ns, ProductSizes, TensorCores,
};
use metrics::Scale;

use super::common::{WARNING, finding, least_capable};
use super::detail::{DeviceDetail, Product};
use crate::costly::Costly;
use crate::rule::{Area, MINIMUM, Rule, RuleLimits};
use crate::{Detail, Finding, Related, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "tensor-cores-unused",
    area: Area::Device,
    title: "Matrix products do not use the tensor cores",
    summary: "The device has units for matrix products that are many times faster than those that ran them.",
    severity: Severity::Information,
    trigger: "On devices with compute capability 8.0 and later, matrix products and convolutions in float32 that ran without TF32; \
              from 7.0 on, those in half precision that ran without tensor cores.",
    measure: "By the names of kernels: `sgemm` and `f32f32` without a tensor-core marker, `hgemm` without one. It is reported once for all lines, on the forward line with most. The cost is the device time of all these kernels: what is won is a part of it, which depends on the sizes.",
    thresholds: &[MINIMUM, WARNING],
    remedy: "In float32: `torch.set_float32_matmul_precision(\"high\")`, or `torch.autocast` with bfloat16. In half precision: make \
             every size a multiple of 8 (pad the vocabulary, the hidden size, the batch).",
    before: "model = Net(vocab=50257).cuda()\nloss = model(x)",
    after: "torch.set_float32_matmul_precision(\"high\")\nmodel = Net(vocab=50304).cuda()\nwith torch.autocast(\"cuda\", dtype=torch.bfloat16):\n    loss = model(x)",
    sources: &[
        "[PyTorch: TensorFloat-32](https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices)",
        "[NVIDIA: matrix multiplication and alignment](https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html)",
    ],
    limits: "Products whose kernels do not show their precision are not reported, nor is anything on devices that the recording does not \
             describe, or that are not NVIDIA's. Whether float32 is needed is for you to say.",
    find,
};

/// The rule about sizes.
pub(super) static UNALIGNED: Rule = Rule {
    id: "tensor-cores-unaligned",
    area: Area::Device,
    title: "Sizes of matrix products are no multiples of 8",
    summary: "The products run on tensor cores, but load their operands in small pieces, because rows of a matrix do not begin at a \
              multiple of 16 bytes.",
    severity: Severity::Information,
    trigger: "On devices with compute capability 7.0 and later, matrix products in half precision run on tensor cores with operands that are \
              not aligned, because a size is no multiple of 8.",
    measure: "By the names of kernels: those of CUTLASS for half precision that run on tensor cores and end in `align1`, `align2` or `align4`. \
              It is reported once for all lines, on the forward line with most. Where arguments are recorded (`record_shapes=True`), the sizes \
              are those of the line's longest product of which one is no multiple of 8. The cost is the device time of all these kernels: what \
              is won is a part of it.",
    thresholds: &[MINIMUM, WARNING],
    remedy: "Pad the size to a multiple of 8 once, where it comes from: the vocabulary, the hidden size, the batch, the length of the \
             sequence (the number of patches of an image and its class token). Attention by `F.scaled_dot_product_attention` copes with any \
             length.",
    before: "scores = torch.bmm(q, k.transpose(1, 2))    # 3601 tokens",
    after: "out = F.scaled_dot_product_attention(q, k, v)",
    sources: &[
        "[NVIDIA: matrix multiplication and alignment](https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html)",
    ],
    limits: "Products whose kernels do not show their alignment are not reported. Padding takes memory and a mask, or the result has to be cut.",
    find: find_unaligned,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let Some((_, capability)) = least_capable(ledger).filter(|(_, it)| (7, 0) <= *it) else {
        return Vec::new();
    };
    let products = [Product::Float32, Product::Half];
    let possible = products.iter().filter(|it| **it != Product::Float32 || (8, 0) <= capability);
    possible.filter_map(|product| of_product(&RULE, ledger, scale, limits, *product)).collect()
}

fn find_unaligned(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let is_possible = least_capable(ledger).is_some_and(|(_, it)| (7, 0) <= it);
    let found = of_product(&UNALIGNED, ledger, scale, limits, Product::Misaligned);
    found.into_iter().filter(|_| is_possible).collect()
}

/// All lines with a kind of product together: what helps one of them helps them all.
fn of_product(
    rule: &'static Rule,
    ledger: &Ledger,
    scale: &Scale<'_>,
    limits: &RuleLimits<'_>,
    product: Product,
) -> Option<Finding> {
    let mut lines: Vec<ProductLine<'_>> = ledger
        .lines
        .iter()
        .filter_map(|(place, books)| ProductLine::of(place, books, product))
        .collect();
    // Of the forward and the backward pass, the forward one is where sizes and types come from.
    lines.sort_by_key(|it| {
        (it.books.cuda_backward == Ns::ZERO, std::cmp::Reverse(it.time), it.place)
    });
    let (first, others) = lines.split_first()?;
    let cost: Ns = lines.iter().map(|it| it.time).sum();
    let detail = DeviceDetail::TensorCores {
        kernel: first.kernel.name.clone(),
        product,
        here: first.time,
        sizes: longest_unaligned(first.books).filter(|_| product != Product::Float32),
    };
    let remedy = match product {
        Product::Float32 => {
            "torch.set_float32_matmul_precision(\"high\") lets float32 use TF32 on tensor cores; torch.autocast with bfloat16 \
             uses them in half precision."
        }
        Product::Half => {
            "Make every size of the product a multiple of 8: pad the vocabulary, the hidden size, the batch, the length of the sequence."
        }
        Product::Misaligned => {
            "Pad the size to a multiple of 8 where it comes from: the vocabulary, the hidden size, the batch, the length of the sequence. \
             In attention, F.scaled_dot_product_attention copes with any length."
        }
    };
    let mut others: Vec<_> = others.iter().collect();
    others.sort_by_key(|it| (std::cmp::Reverse(it.time), it.place));
    let related = others.into_iter().take(MAX_RELATED).map(|it| Related {
        place: it.place.clone(),
        text: "runs {time} of them",
        time: it.time,
    });
    let draft = Costly {
        count: lines.iter().map(|it| it.calls).sum(),
        related: related.collect(),
        ..Costly::line(first.place, first.books, cost, Detail::Device(detail), remedy)
    };
    finding(rule, scale, limits, draft)
}

/// The sizes of the longest product of a line of which one is no multiple of 8.
fn longest_unaligned(books: &LineBooks) -> Option<ProductSizes> {
    let unaligned =
        books.products.iter().filter(|(it, _)| [it.m, it.n, it.k].iter().any(|it| it % 8 != 0));
    unaligned.max_by_key(|&(_, time)| time).map(|(sizes, _)| *sizes)
}

/// Lines that are reported beside the first, at most.
const MAX_RELATED: usize = 3;

/// A line with products of one kind.
struct ProductLine<'a> {
    place: &'a LineKey,
    books: &'a LineBooks,
    time: Ns,
    calls: u64,
    /// The kernel with most time.
    kernel: &'a KernelKey,
}

impl<'a> ProductLine<'a> {
    fn of(place: &'a LineKey, books: &'a LineBooks, kind: Product) -> Option<Self> {
        let kernels =
            || books.kernel_table.iter().filter(|(key, it)| product(key, it) == Some(kind));
        let (kernel, _) = kernels().max_by_key(|(key, it)| (it.total, std::cmp::Reverse(*key)))?;
        let time = kernels().map(|(_, it)| it.total).sum();
        Some(Self { place, books, time, calls: kernels().map(|(_, it)| it.calls).sum(), kernel })
    }
}

/// What is wrong with a kernel, as far as its name says.
fn product(key: &KernelKey, kernel: &Kernel) -> Option<Product> {
    let name = key.name.as_str();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if kernel.class != KernelClass::Compute || has(&["gemv", "splitKreduce", "dgemm", "f64"]) {
        return None;
    }
    match kernel.tensor_cores {
        TensorCores::No if has(&["hgemm", "f16f16_f16"]) => Some(Product::Half),
        TensorCores::No if has(&["sgemm", "f32f32_f32f32"]) => Some(Product::Float32),
        TensorCores::Yes if has(&["f16"]) && has(&["_align1", "_align2", "_align4"]) => {
            Some(Product::Misaligned)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        use TensorCores::{No, Unknown, Yes};
        let rows = [
            ("ampere_sgemm_128x64_tn", No, Some(Product::Float32)),
            ("cutlass_80_simt_sgemm_256x128_8x4_nn_align1", No, Some(Product::Float32)),
            (
                "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_ffma_kernel",
                No,
                Some(Product::Float32),
            ),
            ("cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4", Yes, None),
            (
                "cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_nn_align8",
                Yes,
                None,
            ),
            (
                "cutlass_80_wmma_tensorop_f16_s161616gemm_f16_16x16_128x2_tn_align2",
                Yes,
                Some(Product::Misaligned),
            ),
            ("volta_hgemm_128x64_nn", No, Some(Product::Half)),
            ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNN", Yes, None),
            ("ampere_dgemm_64x64_nn", No, None),
            (
                "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>",
                No,
                None,
            ),
            ("void at::native::vectorized_elementwise_kernel<4>", No, None),
            ("Cijk_Ailk_Bljk_SB_MT64x64x16", Unknown, None),
        ];
        for (name, tensor_cores, expected) in rows {
            let key = KernelKey { name: name.to_owned(), grid: [1; 3], block: [1; 3] };
            let kernel = Kernel { tensor_cores, ..Kernel::default() };
            assert_eq!(product(&key, &kernel), expected, "{name}");
        }
    }
}
