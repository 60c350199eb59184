//! What the name of a kernel shows: a table, to be kept up with the libraries that name them.

use ledger::{KernelClass, TensorCores};
use profile::DeviceKind;

/// Parts of the names of kernels that communicate between devices.
const COMMUNICATION: &[&str] = &[
    "nccl",                // NCCL, RCCL: ncclKernel_AllReduce_…, ncclDevKernel_Generic
    "msccl",               // MSCCL
    "hccl",                // Ascend
    "oneccl",              // Intel
    "nvshmem",             // NVSHMEM
    "deep_ep::",           // DeepEP
    "cross_device_reduce", // vLLM's and SGLang's own all-reduce
    "one_shot_all_reduce", // torch symmetric memory, FlashInfer
    "two_shot_all_reduce", // likewise
    "multimem_all_reduce", // likewise, through NVLink SHARP
    "multimem_all_gather", // likewise
    "multimem_one_shot",   // likewise
    "allreduce_fusion",    // FlashInfer, TensorRT-LLM
];

/// Parts of the names of kernels, and whether these run on tensor (matrix) cores; the first that fits counts.
const TENSOR_CORES: &[(&str, TensorCores)] = &[
    // What says that it does not.
    ("_ffma_", TensorCores::No), // cuBLAS, cuDNN xmma kernels on FP32 units
    ("simt", TensorCores::No),   // CUTLASS on FP32 units
    ("splitKreduce", TensorCores::No), // cuBLAS: adds up parts
    ("gemv", TensorCores::No),   // cuBLAS: matrix times vector
    ("winograd", TensorCores::No), // cuDNN: transforms
    // NVIDIA's list (PyProf's tc.py), as TensorBoard's plugin has it: Volta to Ampere.
    ("h884", TensorCores::Yes),
    ("s884", TensorCores::Yes),
    ("h1688", TensorCores::Yes),
    ("s1688", TensorCores::Yes),
    ("c1688", TensorCores::Yes),
    ("hmma", TensorCores::Yes),
    ("i8816", TensorCores::Yes),
    ("16816", TensorCores::Yes),
    ("dgrad_1x1_stride_2x2", TensorCores::Yes),
    ("first_layer_wgrad_kernel", TensorCores::Yes),
    ("conv1x1", TensorCores::Yes),
    ("conv2d_c1_k1", TensorCores::Yes),
    ("direct_group", TensorCores::Yes),
    ("xmma_implicit_gemm", TensorCores::Yes),
    ("xmma_sparse_conv", TensorCores::Yes),
    ("xmma_warp_specialized_implicit_gemm", TensorCores::Yes),
    ("xmma_gemm", TensorCores::Yes),
    ("xmma_sparse_gemm", TensorCores::Yes),
    // Ampere and later.
    ("tensorop", TensorCores::Yes), // CUTLASS: cutlass_80_tensorop_bf16_s16816gemm_…
    ("xmma_fprop", TensorCores::Yes), // cuDNN: sm80_xmma_fprop_implicit_gemm_…
    ("xmma_dgrad", TensorCores::Yes),
    ("xmma_wgrad", TensorCores::Yes),
    ("flash_fwd", TensorCores::Yes), // FlashAttention 2: flash_fwd_kernel, flash_fwd_splitkv_kernel
    ("flash_bwd", TensorCores::Yes),
    ("fmha_cutlassF_f16", TensorCores::Yes), // torch's memory-efficient attention in half
    ("fmha_cutlassF_bf16", TensorCores::Yes),
    ("fmha_cutlassB_f16", TensorCores::Yes),
    ("fmha_cutlassB_bf16", TensorCores::Yes),
    ("native_sdpa", TensorCores::Yes), // cuDNN: cudnn_generated_fort_native_sdpa_sm90_…
    ("tinygemm", TensorCores::Yes),    // torch's int4 products
    ("marlin", TensorCores::Yes),      // vLLM's quantised products
    // Hopper.
    ("nvjet_", TensorCores::Yes), // cuBLAS 12: nvjet_hsh_128x256_64x4_…
    ("wgmma", TensorCores::Yes),
    ("gmma", TensorCores::Yes), // CUTLASS 3: …_gmma_…, cute::SM90_64x128x16_…_GMMA
    ("GMMA", TensorCores::Yes),
    ("MMA_Traits", TensorCores::Yes), // CuTe
    ("cutlass3x_sm90", TensorCores::Yes),
    ("FlashAttnFwdSm90", TensorCores::Yes), // FlashAttention 3
    ("FlashAttnBwdSm90", TensorCores::Yes),
    ("deep_gemm::", TensorCores::Yes), // DeepGEMM
    // Blackwell.
    ("cutlass3x_sm100", TensorCores::Yes),
    ("utcmma", TensorCores::Yes),
    ("UMMA", TensorCores::Yes), // cute::SM100_MMA_…, UMMA::
    ("tcgen05", TensorCores::Yes),
    ("SM100_MMA", TensorCores::Yes),
    ("fmhaSm100", TensorCores::Yes), // TensorRT-LLM, FlashInfer
    ("_sm100a_", TensorCores::Yes),  // bmm_Bfloat16_…_sm100a_…
    ("_sm100f_", TensorCores::Yes),
    // AMD's matrix cores.
    ("_MI16x16", TensorCores::Yes), // hipBLASLt, Tensile: Cijk_…_MI16x16x1_…
    ("_MI32x32", TensorCores::Yes),
    ("_MI4x4", TensorCores::Yes),
    ("mfma", TensorCores::Yes),
    ("wmma", TensorCores::Yes),
    ("xdl", TensorCores::Yes), // Composable Kernel
    ("ck_tile::Fmha", TensorCores::Yes),
    // Matrix products on vector units, by their old names.
    ("sgemm", TensorCores::No), // volta_sgemm_128x64_nn, ampere_sgemm_…
    ("dgemm", TensorCores::No),
    ("scudnn", TensorCores::No), // volta_scudnn_128x64_relu_…
    ("gemmSN", TensorCores::No),
    ("gemmk1", TensorCores::No),
    // What could be either.
    ("gemm", TensorCores::Unknown),
    ("Gemm", TensorCores::Unknown),
    ("GEMM", TensorCores::Unknown),
    ("Cijk_", TensorCores::Unknown),
    ("matmul", TensorCores::Unknown),
    ("triton_tem_", TensorCores::Unknown), // Inductor's templates
    ("fmha", TensorCores::Unknown),
    ("flex_attention", TensorCores::Unknown),
    ("implicit_convolve", TensorCores::Unknown),
    ("convolve", TensorCores::Unknown),
];

/// What a device event of `kind` is for, by its name.
pub(crate) fn class(kind: DeviceKind, name: &str) -> KernelClass {
    match kind {
        DeviceKind::Memcpy | DeviceKind::Memset => KernelClass::Memory,
        DeviceKind::Kernel if COMMUNICATION.iter().any(|part| name.contains(part)) => {
            KernelClass::Communication
        }
        DeviceKind::Kernel => KernelClass::Compute,
    }
}

/// Whether the kernel `name` runs on tensor cores.
pub(crate) fn tensor_cores(name: &str) -> TensorCores {
    // PyTorch's own kernels do not, and have long names in which anything may stand.
    if name.starts_with("void at::native::") && !name.contains("tinygemm") {
        return TensorCores::No;
    }
    let found = TENSOR_CORES.iter().find(|(part, _)| name.contains(part));
    found.map_or(TensorCores::No, |&(_, uses)| uses)
}

/// The parts of the name of a kernel that its class, and whether it runs on tensor cores, follow from.
#[must_use]
pub fn telling_parts(name: &str) -> Vec<&'static str> {
    let communication = COMMUNICATION.iter().copied().find(|part| name.contains(part));
    let cores = TENSOR_CORES.iter().map(|it| it.0).find(|part| name.contains(part));
    communication.into_iter().chain(cores).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_can_be_the_first_that_fits() {
        for (index, (part, _)) in TENSOR_CORES.iter().enumerate() {
            assert!(!part.trim().is_empty());
            let before = TENSOR_CORES[..index].iter().find(|(earlier, _)| part.contains(earlier));
            assert_eq!(before, None, "{part}");
        }
        for (index, part) in COMMUNICATION.iter().enumerate() {
            let others = COMMUNICATION.iter().enumerate().filter(|(other, _)| *other != index);
            assert_eq!(others.map(|(_, it)| it).find(|it| part.contains(**it)), None, "{part}");
        }
    }

    #[test]
    fn names_as_recorded() {
        use TensorCores::{No, Unknown, Yes};
        let rows = [
            ("volta_scudnn_128x64_relu_interior_nn_v1", No),
            ("volta_sgemm_64x32_sliced1x4_nn", No),
            ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn", Yes),
            ("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_nn", Yes),
            ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", Yes),
            (
                "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x32_stage3_tensor16x8x8_kernel",
                Yes,
            ),
            (
                "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_kernel",
                No,
            ),
            ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_nn_align1>(Params)", No),
            (
                "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>(Params)",
                Yes,
            ),
            ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", Yes),
            (
                "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64> >(Params)",
                Yes,
            ),
            ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)", Yes),
            ("fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)", Unknown),
            ("Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN", Yes),
            ("Cijk_Ailk_Bljk_SB_MT64x64x8_SN", Unknown),
            ("void at::native::vectorized_elementwise_kernel<4, at::native::gemm_like>(int)", No),
            ("void gemv2T_kernel_val<int, int, float>(Params)", No),
            ("triton_poi_fused_add_0", No),
            ("triton_tem_fused_mm_1", Unknown),
        ];
        for (name, expected) in rows {
            assert_eq!(tensor_cores(name), expected, "{name}");
        }
        let class = |name| class(DeviceKind::Kernel, name);
        assert_eq!(
            class("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgs)"),
            KernelClass::Communication
        );
        assert_eq!(
            class("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"),
            KernelClass::Communication
        );
        assert_eq!(
            class("void vllm::cross_device_reduce_1stage<nv_bfloat16, 2>"),
            KernelClass::Communication
        );
        assert_eq!(class("volta_sgemm_64x32_sliced1x4_nn"), KernelClass::Compute);
        assert_eq!(super::class(DeviceKind::Memset, "nccl"), KernelClass::Memory);
    }
}
