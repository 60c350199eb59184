//! Names of kernels, short.

/// Longest name that is shown.
const MAX_LENGTH: usize = 60;

/// Templates that say nothing by themselves: what they are given says what they do.
const WRAPPERS: [&str; 14] = [
    "vectorized_elementwise_kernel",
    "unrolled_elementwise_kernel",
    "unrolled_elementwise_kernel_for_multi_outputs",
    "elementwise_kernel",
    "elementwise_kernel_with_index",
    "elementwise_kernel_manual_unroll",
    "index_elementwise_kernel",
    "legacy_elementwise_kernel",
    "reduce_kernel",
    "multi_tensor_apply_kernel",
    "Kernel",
    "Kernel2",
    "kernel",
    "device_kernel",
];

/// Names inside of template arguments that say nothing about what a kernel does.
const NOISE: [&str; 30] = [
    "array",
    "Array",
    "BFloat16",
    "Half",
    "complex",
    "TrivialOffsetCalculator",
    "OffsetCalculator",
    "TensorIteratorBase",
    "TensorIterator",
    "gpu_kernel_impl",
    "gpu_kernel_impl_nocast",
    "ReduceOp",
    "func_wrapper_t",
    "LoadWithoutCast",
    "StoreWithoutCast",
    "LoadWithCast",
    "StoreWithCast",
    "lambda",
    "operator",
    "unsigned",
    "AUnaryFunctor",
    "BUnaryFunctor",
    "BinaryFunctor",
    "TensorListMetadata",
    "TensorListScalarListMetadata",
    "FusedOptimizerTensorListMetadata",
    "gpu_index_kernel",
    "opmath_gpu_kernel_with_scalars",
    "opmath_symmetric_gpu_kernel_with_scalars",
    "Params",
];

/// The part of a kernel's name that says what it does: no return type, no arguments, no namespaces; of the template
/// arguments only the functor that a generic kernel applies. `void at::native::vectorized_elementwise_kernel<4,
/// at::native::CUDAFunctor_add<float>, …>(…)` is `vectorized_elementwise_kernel<CUDAFunctor_add>`.
#[must_use]
pub fn shorten_kernel_name(name: &str) -> String {
    let name = name.trim();
    if let Some(mangled) = name.strip_prefix("_ZN") {
        return cut(&demangled(mangled).unwrap_or_else(|| name.to_owned()));
    }
    let plain = name.replace("(anonymous namespace)::", "");
    let plain = without_condition(&plain);
    let head_end = head_end(plain);
    let (head, rest) = plain.split_at(head_end);
    // `Memcpy DtoH (Device -> Pageable)` and the like have words, not a return type.
    if !rest.starts_with('<') && !head.contains("::") && !rest.starts_with('(') {
        return cut(plain);
    }
    if head.ends_with(' ') {
        return cut(plain);
    }
    let base = head.rsplit([':', ' ']).next().unwrap_or(head);
    let short = match rest.strip_prefix('<') {
        Some(arguments) if WRAPPERS.contains(&base) => match functor(template(arguments)) {
            Some(functor) if base.eq_ignore_ascii_case("kernel") || base == "Kernel2" => functor,
            Some(functor) => format!("{base}<{functor}>"),
            None => base.to_owned(),
        },
        _ => base.to_owned(),
    };
    if short.is_empty() { cut(name) } else { cut(&short) }
}

/// What follows `std::enable_if<…>::type`, a return type that says when the template may be used.
fn without_condition(name: &str) -> &str {
    let Some(rest) = name.strip_prefix("std::enable_if<") else { return name };
    let condition = template(rest);
    rest[condition.len()..].strip_prefix(">::type ").unwrap_or(name)
}

/// Where the name itself ends: at its template arguments or its arguments.
fn head_end(name: &str) -> usize {
    name.find(['<', '(']).unwrap_or(name.len())
}

/// The template arguments, up to the `>` that closes them.
fn template(text: &str) -> &str {
    let mut depth = 1;
    for (at, char) in text.char_indices() {
        match char {
            '<' => depth += 1,
            '>' if text[..at].ends_with('-') => {}
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// The first name in template arguments that says what is done; one that calls itself a functor, operation or kernel is
/// better than others.
fn functor(arguments: &str) -> Option<String> {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut names: Vec<&str> = Vec::new();
    for (at, word) in words(arguments, is_word) {
        let is_namespace = arguments[at + word.len()..].starts_with("::");
        let is_informative = !is_namespace
            && !NOISE.contains(&word)
            && !word.starts_with("__")
            && word.len() > 3
            && word.starts_with(|char: char| char.is_alphabetic())
            && !matches!(
                word,
                "float"
                    | "double"
                    | "long"
                    | "char"
                    | "bool"
                    | "short"
                    | "const"
                    | "true"
                    | "false"
                    | "void"
            );
        // `f(…)::{lambda}`: the function that a lambda was written in names what it does.
        let names_lambda =
            arguments[at + word.len()..].starts_with('(') && word.ends_with("kernel_cuda");
        if is_informative || names_lambda {
            names.push(word);
        }
    }
    let says = |name: &&&str| {
        let lower = name.to_ascii_lowercase();
        ["functor", "kernel", "op", "gemm", "cutlass_"].iter().any(|it| lower.contains(it))
    };
    names.iter().find(says).or(names.first()).map(|name| (*name).to_owned())
}

/// The runs of characters that `is_word` takes, with their offsets.
fn words(text: &str, is_word: impl Fn(char) -> bool) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut rest = 0;
    while let Some(start) = text[rest..].find(&is_word) {
        let start = rest + start;
        let end = text[start..].find(|char| !is_word(char)).map_or(text.len(), |len| start + len);
        words.push((start, &text[start..end]));
        rest = end;
    }
    words
}

/// The last name of `_ZN` 2`at` 6`native` 3`foo` I…: each name stands behind its length.
fn demangled(mut rest: &str) -> Option<String> {
    let mut last = None;
    loop {
        let digits = rest.len() - rest.trim_start_matches(|char: char| char.is_ascii_digit()).len();
        let Ok(len) = rest[..digits].parse::<usize>() else { break };
        let Some(name) = rest[digits..].get(..len) else { break };
        if !name.starts_with("_GLOBAL_") {
            last = Some(name);
        }
        rest = &rest[digits + len..];
    }
    last.map(str::to_owned)
}

/// What is too long is known by its beginning: tile sizes and flags come last.
fn cut(name: &str) -> String {
    if name.chars().count() <= MAX_LENGTH {
        return name.to_owned();
    }
    name.chars().take(MAX_LENGTH - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernels() {
        let rows = [
            ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
            (
                "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, float, false, 7, cublasGemvParamsEx<int, float> >(cublasGemvParamsEx<int, float>)",
                "cublasGemvParamsEx",
            ),
            ("Memcpy DtoH (Device -> Pageable)", "Memcpy DtoH (Device -> Pageable)"),
            ("triton_poi_fused_addmm_gelu_view_17", "triton_poi_fused_addmm_gelu_view_17"),
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
                "vectorized_elementwise_kernel<CUDAFunctor_add>",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<8, at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int, at::native::AUnaryFunctor<c10::BFloat16>)",
                "vectorized_elementwise_kernel<MulFunctor>",
            ),
            (
                "void at::native::elementwise_kernel_manual_unroll<128, 4, at::native::gpu_kernel_impl<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#4}::operator()() const::{lambda(long)#1}>(at::TensorIteratorBase&)>(int)",
                "elementwise_kernel_manual_unroll<direct_copy_kernel_cuda>",
            ),
            (
                "void at::native::batch_norm_collect_statistics_kernel<at::native::Var, c10::BFloat16, c10::BFloat16, float, int>(at::GenericPackedTensorAccessor<c10::BFloat16 const, 3ul>)",
                "batch_norm_collect_statistics_kernel",
            ),
            (
                "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>(int, float)",
                "vectorized_layer_norm_kernel",
            ),
            (
                "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, (cudnnKernelDataType_t)0>(int)",
                "nchwToNhwcKernel",
            ),
            (
                "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4>(cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4::Params)",
                "cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4",
            ),
            (
                "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_28GridwiseGemm",
                "kernel_grouped_conv_fwd_xdl_cshuffle_v3",
            ),
            (
                "Cijk_Ailk_Bjlk_BBS_BH_MT32x32x64_MI16x16x16x1_SN_1LDSB0_APM1_ABV0_ACED0_AF0EM1",
                "Cijk_Ailk_Bjlk_BBS_BH_MT32x32x64_MI16x16x16x1_SN_1LDSB0_APM…",
            ),
            ("", ""),
            ("<", "<"),
            ("void f<(a", "f"),
        ];
        for (name, short) in rows {
            assert_eq!(shorten_kernel_name(name), short, "{name}");
        }
    }
}
